#pragma once

#include <cstdint>

namespace millrace::unicode {

// General categories (Unicode Standard 4.5), in the Unicode version of Hugging Face's regular expressions.
// clang-format off
enum Category : std::uint8_t {
  kLu, kLl, kLt, kLm, kLo, kMn, kMc, kMe, kNd, kNl, kNo, kPc, kPd, kPs, kPe, kPi, kPf, kPo, kSm, kSc, kSk, kSo,
  kZs, kZl, kZp, kCc, kCf, kCo, kCn
};
// clang-format on
inline constexpr int kCategories = kCn + 1;

// Sets of categories: bit c of a set is category c.
using CategorySet = std::uint32_t;
constexpr CategorySet categories(Category first, Category last) { return (2u << last) - (1u << first); }
inline constexpr CategorySet kLetters = categories(kLu, kLo), kMarks = categories(kMn, kMe),
                             kNumbers = categories(kNd, kNo), kPunctuation = categories(kPc, kPo),
                             kSymbols = categories(kSm, kSo), kSeparators = categories(kZs, kZp);

}  // namespace millrace::unicode
