#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::unicode {

// Classes of code points in the pre-tokenizers' regular expressions; bits of unicode_classes().
enum UnicodeClass : std::uint8_t {
  kLetter = 1,            // \p{L}
  kNumber = 2,            // \p{N}
  kSpace = 4,             // \s: White_Space
  kDigit = 8,             // isolated by the Digits pre-tokenizer: \p{N} of a newer Unicode version
  kWord = 16,             // \w
  kBertPunctuation = 32,  // isolated by BERT: ASCII symbols, and punctuation of an older Unicode version
};
std::uint8_t unicode_classes(char32_t code_point) noexcept;

struct CodePoint {
  char32_t value = 0;
  std::size_t size = 1;  // bytes
};
// The code point at `at`, which must be the beginning of a character in valid UTF-8.
CodePoint code_point_at(std::string_view text, std::size_t at) noexcept;
// The beginning of the character that ends at `end` > 0 in valid UTF-8.
std::size_t previous_start(std::string_view text, std::size_t end) noexcept;
void append_utf8(std::string& out, char32_t code_point);

// The first unit of `text` in UTF-8, invalid parts divided as in the Unicode Standard (3.9, "maximal subparts").
struct Utf8Unit {
  enum class Kind {
    kCharacter,
    kInvalid,
    kIncomplete
  };  // kIncomplete: the text ends inside what may become a character
  Kind kind;
  std::size_t size;
};
Utf8Unit next_utf8_unit(std::string_view text) noexcept;  // text is not empty

bool is_valid_utf8(std::string_view text) noexcept;
// Replaces every maximal invalid subpart by one U+FFFD, as Python's errors="replace" and Rust's from_utf8_lossy do.
std::string replace_invalid_utf8(std::string_view text);

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";  // U+FFFD

}  // namespace millrace::unicode
