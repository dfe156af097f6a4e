#pragma once

#include <array>
#include <string>
#include <utility>

#include "text/marked_text.h"
#include "unicode/code_points.h"

namespace millrace::text {

// The first bytes of characters that a rewriting must examine. OPTIMIZATION: all others are skipped a byte at a time.
class FirstBytes {
 public:
  // All bytes beyond ASCII, and the ASCII characters for which `looks` is true.
  template <typename Looks>
  static constexpr FirstBytes of(Looks looks) {
    return of_bytes([&](std::size_t byte) { return byte >= 0x80 || looks(static_cast<char32_t>(byte)); });
  }
  // The bytes for which `looks` is true.
  template <typename Looks>
  static constexpr FirstBytes of_bytes(Looks looks) {
    FirstBytes out;
    for (std::size_t byte = 0; byte < 256; ++byte) out.stops_[byte] = looks(byte);
    return out;
  }
  bool stops(char byte) const noexcept { return stops_[static_cast<unsigned char>(byte)]; }
  // The position of the next byte of the set at or after `at`; text.size() if there is none.
  std::size_t next(std::string_view text, std::size_t at) const noexcept {
    while (at < text.size() && !stops(text[at])) ++at;
    return at;
  }
  // The same as next(), but at the ASCII character before it, which may carry a combining mark.
  std::size_t next_with_base(std::string_view text, std::size_t at) const noexcept {
    const std::size_t found = next(text, at);
    const bool mark = found > at && found < text.size() && static_cast<unsigned char>(text[found]) >= 0x80 &&
                      static_cast<unsigned char>(text[found - 1]) < 0x80;
    return mark ? found - 1 : found;
  }

 private:
  std::array<bool, 256> stops_{};
};
inline constexpr FirstBytes kBeyondAscii = FirstBytes::of([](char32_t) { return false; });

// Replaces every character for which `changes` is true by what `write(character, out)` appends to `out`, which may be
// nothing. The result has the source position of the character.
template <typename Changes, typename Write>
void rewrite_characters(MarkedText& text, const FirstBytes& first_bytes, Changes changes, Write write) {
  const std::string_view bytes = text.text();
  MarkedText out;
  std::string replacement;
  std::size_t done = 0;  // all before this is in `out`
  bool touched = false;
  for (std::size_t at = first_bytes.next(bytes, 0); at < bytes.size();) {
    const unicode::CodePoint c = unicode::code_point_at(bytes, at);
    const std::size_t end = at + c.size;
    if (changes(c.value)) {
      if (!touched) out.reserve(bytes.size());
      touched = true;
      if (done < at) out.append(text, done, at);
      replacement.clear();
      write(c.value, replacement);
      if (!replacement.empty()) out.append(replacement, text, at, end);
      done = end;
    }
    at = first_bytes.next(bytes, end);
  }
  if (!touched) return;
  if (done < bytes.size()) out.append(text, done, bytes.size());
  text = std::move(out);
}

}  // namespace millrace::text
