#pragma once

#include <cstdint>
#include <string>

namespace millrace::unicode {

// What normalizers ask about characters; bits of normalization_classes. The answers are those of Hugging Face's
// normalizers, which know several versions of Unicode (their canonical forms that of 9.0).
enum NormalizationClass : std::uint8_t {
  kNfdChanges = 1,   // decomposes canonically, or has a combining class
  kNfkdChanges = 2,  // the same with compatibility decompositions
  kNfcChanges = 4,   // may change, have a combining class or melt into the character before
  kNfkcChanges = 8,
  kCombiningMark = 16,   // StripAccents removes it
  kNonspacingMark = 32,  // BertNormalizer's strip_accents does
  kUnclean = 64,         // BertNormalizer's clean_text does
  kHasLowerCase = 128,   // has another character as its lowercase
};
std::uint8_t normalization_classes(char32_t code_point) noexcept;

// Appends the lowercase of one character, without regard to its neighbours.
void append_lower_case(std::string& out, char32_t code_point);

}  // namespace millrace::unicode
