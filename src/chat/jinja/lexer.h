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
  Value number;      // only for kInteger and kReal
  int line;
};

// Splits the template into tokens, with white space control as Jinja does it with trim_blocks and lstrip_blocks. The
// last token is kEnd. Throws Failure with the line.
std::vector<Token> tokenize(std::string_view source);

// The sign, name or kind of a token, for messages.
std::string describe(const Token& token);
[[noreturn]] void syntax_error(int line, std::string_view message);

}  // namespace millrace::chat::jinja
