#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "grammar/language.h"
#include "grammar/reference_recognizer.h"

namespace millrace::grammar {

// For tests of languages: a source, what fits it and what does not.
struct LanguageCase {
  std::string source;
  std::vector<std::string> fits, fails;
};

inline void expect_cases(const std::string& language, const std::vector<LanguageCase>& cases) {
  for (const LanguageCase& one : cases) {
    WorkMeter meter;
    Grammar grammar;
    std::vector<std::string> ignored;
    const auto root = add_source(grammar, {.language = language, .text = one.source}, meter, ignored);
    ASSERT_TRUE(root.ok()) << one.source << ": " << root.error().message;
    grammar.set_root(*root);
    for (const std::string& text : one.fits)
      EXPECT_TRUE(ReferenceRecognizer(grammar, text).fits()) << one.source << "\non " << text;
    for (const std::string& text : one.fails)
      EXPECT_FALSE(ReferenceRecognizer(grammar, text).fits()) << one.source << "\non " << text;
  }
}

// The message with which a source is refused.
inline std::string refusal(const std::string& language, const std::string& source,
                           ErrorCode code = ErrorCode::kInvalidArgument) {
  WorkMeter meter;
  Grammar grammar;
  std::vector<std::string> ignored;
  const auto root = add_source(grammar, {.language = language, .text = source}, meter, ignored);
  if (root.ok()) return "accepted";
  EXPECT_EQ(root.error().code, code) << source;
  EXPECT_EQ(root.error().param, "grammar");
  return root.error().message;
}

}  // namespace millrace::grammar
