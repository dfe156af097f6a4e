#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/language.h"
#include "grammar/reference_matcher.h"

namespace millrace::grammar::json_schema {

// For tests: a schema's grammar, and which texts fit it by the grammar's definition.
class SchemaTexts {
 public:
  explicit SchemaTexts(GrammarSource source) {
    source.language = "json_schema";
    WorkMeter meter;
    const auto root = add_source(grammar_, source, meter, ignored_);
    if (root) {
      grammar_.set_root(*root);
    } else {
      error_ = root.error();
    }
  }
  explicit SchemaTexts(std::string schema)
      : SchemaTexts(GrammarSource{.text = std::move(schema), .white_space = GrammarSource::WhiteSpace::kCompact}) {}

  const Error& error() const { return error_; }
  const std::vector<std::string>& ignored() const { return ignored_; }
  bool fits(const std::string& text) const {
    return error_.message.empty() && ReferenceMatcher(grammar_).matches(text);
  }

  void expect(const std::vector<std::string>& fitting, const std::vector<std::string>& others) const {
    ASSERT_EQ(error_.message, "");
    for (const std::string& text : fitting) EXPECT_TRUE(fits(text)) << text;
    for (const std::string& text : others) EXPECT_FALSE(fits(text)) << text;
  }

 private:
  Grammar grammar_;
  std::vector<std::string> ignored_;
  Error error_;
};

}  // namespace millrace::grammar::json_schema
