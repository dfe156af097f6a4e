#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/token.h"

namespace millrace::text {

// One character of a rewritten text, as Hugging Face's normalizers describe it: `change` 0 takes the place of the next
// character of the source, -n of the next 1 + n of them, and +1 is inserted.
struct CharChange {
  char32_t character;
  int change;
};

// Valid UTF-8 that remembers which of its bytes came from trusted pieces and, when asked to, from where in the pieces
// each came. Below 4 GiB.
class MarkedText {
 public:
  MarkedText() = default;
  // The pieces' concatenation; what is not UTF-8 becomes U+FFFD, trusted only where every byte it replaces was.
  explicit MarkedText(std::span<const TextPiece> pieces, bool track_source = false);

  std::string_view text() const noexcept { return text_; }
  bool trusted(std::size_t begin, std::size_t end) const noexcept;
  bool uniform() const noexcept { return marks_.empty(); }  // all of it is trusted, or none
  bool tracked() const noexcept { return !spans_.empty(); }
  // Where text()[begin, end) came from, as bytes of the pieces joined; only when tracked. begin < end.
  TokenSpan source(std::size_t begin, std::size_t end) const noexcept {
    return {spans_[begin].begin, spans_[end - 1].end};
  }

  // For rewriting: appends `bytes`, trusted as source[begin, end) is and coming from there. begin < end.
  void append(std::string_view bytes, const MarkedText& source, std::size_t begin, std::size_t end);
  void append(const MarkedText& source, std::size_t begin, std::size_t end);  // a copy
  // Appends `bytes` as if they were the character of source that begins at `at`: what is put in front of it.
  void append_in_front(std::string_view bytes, const MarkedText& source, std::size_t at);
  // The result of a character-wise rewriting of source[begin, end), `removed` of whose first characters are gone.
  void append(std::span<const CharChange> changes, const MarkedText& source, std::size_t begin, std::size_t end,
              int removed = 0);
  void reserve(std::size_t bytes) { text_.reserve(bytes); }
  void truncate(std::size_t size);  // to fewer bytes
  // The bytes, for rewriting characters in place by others of the same size.
  std::span<char> bytes() noexcept { return text_; }
  // `bytes` in front of everything, as if they were the first character's. Nothing when there is none.
  void prepend(std::string_view bytes);

 private:
  struct Span {
    std::uint32_t begin, end;
  };
  void append_marks(std::size_t n, bool trusted);
  void append_spans(std::size_t n, const MarkedText& source, std::size_t begin, std::size_t end);

  std::string text_;
  std::string marks_;        // one byte a byte of text, 1 = trusted; empty while all bytes are alike
  bool all_trusted_ = true;  // what they are then
  std::vector<Span> spans_;  // one a byte of text, the whole character's; empty = not tracked
};

}  // namespace millrace::text
