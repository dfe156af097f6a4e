#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/value.h"

namespace millrace::chat::jinja {

enum class TokenKind {
  kData,
  kPrintBegin,
  kPrintEnd,
  kTagBegin,
  kTagEnd,
  kName,
  kString,
  kInteger,
  kReal,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind;
  std::string text;  // data, name, string contents or operator sign
  Value number;      // of kInteger and kReal
  int line;
};

// The template as tokens, with white space control applied as Jinja does under trim_blocks and lstrip_blocks. Throws
// Failure with the line. The last token is kEnd.
std::vector<Token> tokenize(std::string_view source);

// For messages: the sign, name or kind of a token.
std::string describe(const Token& token);
[[noreturn]] void syntax_error(int line, std::string_view message);

}  // namespace millrace::chat::jinja
