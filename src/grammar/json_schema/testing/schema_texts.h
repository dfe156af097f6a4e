#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grammar/language.h"
#include "grammar/testing/reference_matcher.h"

namespace millrace::grammar::json_schema {

// For tests: the grammar of a JSON schema, and whether texts fit it by the definition of grammars (ReferenceMatcher).
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
  // The schema with white space `kCompact`.
  explicit SchemaTexts(std::string schema)
      : SchemaTexts(GrammarSource{.text = std::move(schema), .white_space = GrammarSource::WhiteSpace::kCompact}) {}

  const Error& error() const { return error_; }  // of reading the schema; its message is empty if there is none
  const std::vector<std::string>& ignored() const { return grammar_.ignored(); }
  bool fits(const std::string& text) const {
    return error_.message.empty() && ReferenceMatcher(grammar_).matches(text);
  }

  // Expects a valid schema that `fitting` texts fit and `others` do not.
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
