#pragma once

#include <cstdint>
#include <string>

namespace millrace::unicode {

// Properties of characters for normalizers; bits of normalization_classes(). They are those of Hugging Face's
// normalizers, which use several versions of Unicode (9.0 for canonical forms).
enum NormalizationClass : std::uint8_t {
  kNfdChanges = 1,   // it decomposes canonically, or has a combining class
  kNfkdChanges = 2,  // the same with compatibility decompositions
  kNfcChanges = 4,   // it may change, has a combining class, or may combine with the character before
  kNfkcChanges = 8,
  kCombiningMark = 16,   // StripAccents removes it
  kNonspacingMark = 32,  // BertNormalizer's strip_accents removes it
  kUnclean = 64,         // BertNormalizer's clean_text removes or replaces it
  kHasLowerCase = 128,   // its lowercase is another character
};
std::uint8_t normalization_classes(char32_t code_point) noexcept;

// Appends the lowercase of one character, without regard to the characters around it.
void append_lower_case(std::string& out, char32_t code_point);

}  // namespace millrace::unicode
