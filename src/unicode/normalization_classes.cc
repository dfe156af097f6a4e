#include "unicode/normalization_classes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "unicode/code_points.h"
#include "unicode/normalization_classes.gen.h"

namespace millrace::unicode {
namespace {

// Pages of 256 code points; equal pages are stored once.
class ClassTable {
 public:
  ClassTable() {
    using Page = std::array<std::uint8_t, 256>;
    std::vector<Page> pages(kPages, Page{});
    for (const NormalizationRange& range : kNormalizationRanges) {
      for (std::uint32_t c = range.first; c <= range.last; ++c) pages[c >> 8][c & 0xFF] = range.classes;
    }
    std::vector<Page> stored;
    for (std::size_t i = 0; i < kPages; ++i) {
      const auto known = std::ranges::find(stored, pages[i]);
      page_[i] = static_cast<std::uint16_t>((known - stored.begin()) * 256);
      if (known == stored.end()) stored.push_back(pages[i]);
    }
    for (const Page& page : stored) classes_.insert(classes_.end(), page.begin(), page.end());
  }
  std::uint8_t operator[](char32_t c) const noexcept {
    return c < kPages * 256 ? classes_[page_[c >> 8] + (c & 0xFF)] : 0;
  }

 private:
  static constexpr std::size_t kPages = 0x1100;
  std::array<std::uint16_t, kPages> page_;  // where a page begins in classes_: fewer than 256 are different
  std::vector<std::uint8_t> classes_;
};

}  // namespace

std::uint8_t normalization_classes(char32_t code_point) noexcept {
  static const ClassTable table;
  return table[code_point];
}

void append_lower_case(std::string& out, char32_t c) {
  constexpr char32_t kCapitalIWithDot = 0x130;
  if (c == kCapitalIWithDot) {
    out += "i\xcc\x87";  // i and U+0307
    return;
  }
  const auto* range = std::ranges::upper_bound(kLowerCaseRanges, c, {}, &LowerCaseRange::first);
  if (range != std::begin(kLowerCaseRanges)) {
    --range;
    if (c <= range->last && (static_cast<std::int32_t>(c - range->first)) % range->step == 0) {
      c = static_cast<char32_t>(static_cast<std::int32_t>(c) + range->difference);
    }
  }
  append_utf8(out, c);
}

}  // namespace millrace::unicode
