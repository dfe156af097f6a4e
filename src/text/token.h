#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::text {

using TokenId = std::int32_t;

// A piece of text to encode. Special tokens are recognised only in trusted text (of templates), never in text of users
// or tools: `<|im_start|>` in a message is plain text.
struct TextPiece {
  std::string text;
  bool trusted = false;
};

// The tokens that a file names around a text whose middle is missing.
struct MiddleTokens {
  std::optional<TokenId> prefix, suffix, middle;  // what each of them stands before
  std::vector<TokenId> ends;                      // those that end a middle besides what ends any answer
};

// The bytes [begin, end) of the concatenated pieces.
struct TokenSpan {
  std::size_t begin = 0, end = 0;
  bool operator==(const TokenSpan&) const = default;
};

}  // namespace millrace::text
