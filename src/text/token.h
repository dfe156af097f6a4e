#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace millrace::text {

using TokenId = std::int32_t;

// A piece of text to encode. Special tokens are recognised only in trusted text (of templates), never in text of users
// or tools: `<|im_start|>` in a message is plain text.
struct TextPiece {
  std::string text;
  bool trusted = false;
};

// The bytes [begin, end) of the concatenated pieces.
struct TokenSpan {
  std::size_t begin = 0, end = 0;
  bool operator==(const TokenSpan&) const = default;
};

}  // namespace millrace::text
