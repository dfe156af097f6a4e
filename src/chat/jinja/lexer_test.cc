#include "chat/jinja/lexer.h"

#include <gtest/gtest.h>

namespace millrace::chat::jinja {
namespace {

std::string data_of(std::string_view source) {
  std::string out;
  for (const Token& token : tokenize(source)) {
    if (token.kind == TokenKind::kData) out += token.text;
  }
  return out;
}

TEST(Lexer, TrimsTheLineEndAfterATagAndTheIndentBeforeIt) {
  EXPECT_EQ(data_of("a\n  {% x %}\nb"), "a\nb");
  EXPECT_EQ(data_of("a  {% x %}\nb"), "a  b");
  EXPECT_EQ(data_of("a {{ x }}\nb"), "a \nb");
}

TEST(Lexer, SignsOverrideTheTrimming) {
  EXPECT_EQ(data_of("a \n {%- x -%} \n b"), "ab");
  EXPECT_EQ(data_of("a\n  {%+ x +%}\nb"), "a\n  \nb");
}

TEST(Lexer, CountsLinesAcrossStrippedText) {
  const auto tokens = tokenize("a\n\n{%- x -%}\n\n{{ y }}");
  EXPECT_EQ(tokens.back().line, 5);
}

TEST(Lexer, DropsOneLineEndAtTheEnd) { EXPECT_EQ(data_of("a\r\n\n"), "a\n"); }

TEST(Lexer, UnescapesStrings) {
  const auto tokens = tokenize(R"({{ 'a\n\x41\u00e9\'\q' }})");
  EXPECT_EQ(tokens[1].text, "a\nA\u00E9'\\q");
}

TEST(Lexer, RefusesWhatIsNotClosed) {
  for (const std::string_view source : {"{{ x", "{% x", "{# x", "{% raw %}x", "{{ 'x }}", "{{ (] }}"}) {
    EXPECT_THROW(tokenize(source), Failure) << source;
  }
}

}  // namespace
}  // namespace millrace::chat::jinja
