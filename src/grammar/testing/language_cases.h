#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/language.h"
#include "grammar/matcher.h"
#include "grammar/testing/reference_matcher.h"
#include "text/testing/vocabularies.h"

namespace millrace::grammar {

// For tests: whether texts fit a grammar, by ReferenceMatcher and by the compiled grammar, which must agree. The
// grammar must outlive it.
class GrammarTester {
 public:
  explicit GrammarTester(const Grammar& grammar) : grammar_(grammar) {
    static const std::shared_ptr<Vocabulary> vocabulary =
        make_vocabulary(text::load_gguf_tokenizer(text::small_byte_level_vocabulary("gpt2")).or_throw());
    WorkMeter meter;
    auto compiled = compile(grammar, vocabulary, meter);
    // compile() rejects a grammar that no text fits.
    if (compiled) {
      compiled_ = *compiled;
    } else {
      EXPECT_EQ(compiled.error().code, ErrorCode::kInvalidArgument) << compiled.error().message;
    }
  }

  bool fits(const std::string& text) {
    const bool fits = ReferenceMatcher(grammar_).matches(text);
    bool compiled_fits = false;
    if (compiled_ != nullptr) {
      Matcher matcher(compiled_);
      compiled_fits = matcher.accept_bytes(text) && matcher.may_end();
    }
    EXPECT_EQ(compiled_fits, fits) << "compiled, on " << text;
    return fits;
  }

 private:
  const Grammar& grammar_;
  std::shared_ptr<CompiledGrammar> compiled_;
};

// The source of a grammar, texts that fit it, and texts that do not.
struct LanguageCase {
  std::string source;
  std::vector<std::string> fits, fails;
};

// Expects each case to be right; `language` is GrammarSource::language.
inline void expect_cases(const std::string& language, const std::vector<LanguageCase>& cases) {
  for (const LanguageCase& one : cases) {
    SCOPED_TRACE(one.source);
    WorkMeter meter;
    const auto grammar = read_grammar({.language = language, .text = one.source}, meter);
    ASSERT_TRUE(grammar.ok()) << grammar.error().message;
    GrammarTester tester(*grammar);
    for (const std::string& text : one.fits) EXPECT_TRUE(tester.fits(text)) << text;
    for (const std::string& text : one.fails) EXPECT_FALSE(tester.fits(text)) << text;
  }
}

// The error message for an invalid source; "accepted" if it is valid. Expects `code` and the param "grammar".
inline std::string rejection(const std::string& language, const std::string& source,
                             ErrorCode code = ErrorCode::kInvalidArgument) {
  WorkMeter meter;
  const auto grammar = read_grammar({.language = language, .text = source}, meter);
  if (grammar.ok()) return "accepted";
  EXPECT_EQ(grammar.error().code, code) << source;
  EXPECT_EQ(grammar.error().param, "grammar");
  return grammar.error().message;
}

}  // namespace millrace::grammar
