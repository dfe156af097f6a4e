#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/language.h"
#include "grammar/testing/reference_matcher.h"

namespace millrace::grammar::json_schema {

// For tests: a schema's grammar, and which texts fit it by the grammar's definition.
class SchemaTexts {
 public:
  explicit SchemaTexts(GrammarSource source) {
    source.language = "json_schema";
    WorkMeter meter;
    auto read = read_grammar(source, meter);
    if (read) {
      grammar_ = *std::move(read);
    } else {
      error_ = read.error();
    }
  }
  explicit SchemaTexts(std::string schema)
      : SchemaTexts(GrammarSource{.text = std::move(schema), .white_space = GrammarSource::WhiteSpace::kCompact}) {}

  const Error& error() const { return error_; }
  const std::vector<std::string>& ignored() const { return grammar_.ignored(); }
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
  Error error_;
};

}  // namespace millrace::grammar::json_schema
