#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace millrace::text {

// Valid UTF-8 that remembers which of its bytes came from trusted pieces.
class MarkedText {
 public:
  MarkedText() = default;
  // The pieces' concatenation; what is not UTF-8 becomes U+FFFD, trusted only where every byte it replaces was.
  explicit MarkedText(std::span<const TextPiece> pieces);

  std::string_view text() const noexcept { return text_; }
  bool trusted(std::size_t begin, std::size_t end) const noexcept;

  // For rewriting: appends `bytes`, trusted as source[begin, end) is.
  void append(std::string_view bytes, const MarkedText& source, std::size_t begin, std::size_t end);
  void append(const MarkedText& source, std::size_t begin, std::size_t end);  // a copy
  void append_trusted(std::string_view bytes);

 private:
  void append_marks(std::size_t n, bool trusted);

  std::string text_;
  std::string marks_;        // one byte a byte of text, 1 = trusted; empty while all bytes are alike
  bool all_trusted_ = true;  // what they are then
};

}  // namespace millrace::text
