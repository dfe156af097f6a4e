#include "unicode/category.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "unicode/categories.gen.h"

namespace millrace::unicode {
namespace {

constexpr std::size_t kPageSize = 256, kPages = 0x110000 / kPageSize;

// Pages of 256 code points; equal pages are stored once.
class CategoryTable {
 public:
  CategoryTable() {
    std::map<std::string, std::uint16_t> seen;
    std::string page(kPageSize, '\0');
    const CategoryRun* run = std::begin(kCategoryRuns);
    for (std::size_t i = 0; i < kPages; ++i) {
      for (std::size_t j = 0; j < kPageSize; ++j) {
        while (run + 1 < std::end(kCategoryRuns) && run[1].first <= i * kPageSize + j) ++run;
        page[j] = static_cast<char>(run->category);
      }
      const auto [known, is_new] = seen.emplace(page, static_cast<std::uint16_t>(seen.size()));
      if (is_new) categories_.insert(categories_.end(), page.begin(), page.end());
      page_of_[i] = known->second;
    }
  }
  Category operator[](char32_t c) const noexcept {
    return static_cast<Category>(categories_[page_of_[c / kPageSize] * kPageSize + c % kPageSize]);
  }

 private:
  std::array<std::uint16_t, kPages> page_of_{};
  std::vector<char> categories_;
};

}  // namespace

Category category_of(char32_t code_point) noexcept {
  static const CategoryTable table;
  return table[code_point];
}

bool is_han(char32_t c) noexcept {
  const auto* range = std::lower_bound(std::begin(kHanRanges), std::end(kHanRanges), c,
                                       [](const CodePointRange& r, char32_t value) { return r.last < value; });
  return range != std::end(kHanRanges) && range->first <= c;
}

}  // namespace millrace::unicode
