#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/token.h"

namespace millrace::text {

// One character of a rewritten text, in the form of Hugging Face's normalizers. `change` 0: it replaces the next
// character of the source; -n: the next 1 + n of them; +1: it is inserted.
struct CharChange {
  char32_t character;
  int change;
};

// Valid UTF-8 that records which of its bytes came from trusted pieces and, on request, from where in the pieces each
// came. Below 4 GiB.
class MarkedText {
 public:
  MarkedText() = default;
  // Concatenates the pieces. Invalid UTF-8 becomes U+FFFD, which is trusted only if all bytes it replaces were.
  explicit MarkedText(std::span<const TextPiece> pieces, bool track_source = false);

  std::string_view text() const noexcept { return text_; }
  bool trusted(std::size_t begin, std::size_t end) const noexcept;
  bool uniform() const noexcept { return marks_.empty(); }  // all bytes are trusted, or none is
  bool tracked() const noexcept { return !spans_.empty(); }
  // Where text()[begin, end) came from, in bytes of the concatenated pieces. Only if tracked; begin < end.
  TokenSpan source(std::size_t begin, std::size_t end) const noexcept {
    return {spans_[begin].begin, spans_[end - 1].end};
  }

  // Appends `bytes` with the trust and the origin of source[begin, end), for rewriting. begin < end.
  void append(std::string_view bytes, const MarkedText& source, std::size_t begin, std::size_t end);
  void append(const MarkedText& source, std::size_t begin, std::size_t end);  // appends a copy
  // Appends `bytes` with the trust and the origin of source's character at `at`, which they precede.
  void append_in_front(std::string_view bytes, const MarkedText& source, std::size_t at);
  // Appends the result of rewriting source[begin, end) character by character. The first `removed` characters of it are
  // gone.
  void append(std::span<const CharChange> changes, const MarkedText& source, std::size_t begin, std::size_t end,
              int removed = 0);
  void reserve(std::size_t bytes) { text_.reserve(bytes); }
  void truncate(std::size_t size);  // shortens to `size` bytes
  // The bytes, for replacing characters in place by others of the same size.
  std::span<char> bytes() noexcept { return text_; }
  // Inserts `bytes` before everything, with the trust and the origin of the first character. Does nothing if there is
  // none.
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
