#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace millrace::text {

using TokenId = std::int32_t;

// A stretch of text to encode. Special tokens are recognised only where the text is trusted (template literals), never
// in what a user or a tool wrote: `<|im_start|>` in a message is plain text.
struct TextPiece {
  std::string text;
  bool trusted = false;
};

// Bytes [begin, end) of the pieces joined.
struct TokenSpan {
  std::size_t begin = 0, end = 0;
  bool operator==(const TokenSpan&) const = default;
};

}  // namespace millrace::text
