#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace millrace::chat::jinja {

// A stable sort that is safe for a `less` that is no strict weak order (NaN from a template) or that throws.
// std::stable_sort is not used because clang 19 rejects the deprecated get_temporary_buffer in libstdc++ 12.
template <typename T, typename Less>
void merge_sort(std::vector<T>& items, Less less) {
  const auto at = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
  std::vector<T> merged(items.size());
  for (std::size_t width = 1; width < items.size(); width *= 2) {
    for (std::size_t start = 0; start < items.size(); start += 2 * width) {
      const std::size_t middle = std::min(start + width, items.size()), end = std::min(start + 2 * width, items.size());
      const auto from = std::make_move_iterator(items.begin());
      std::merge(from + at(start), from + at(middle), from + at(middle), from + at(end), merged.begin() + at(start),
                 less);
    }
    std::swap(items, merged);
  }
}

}  // namespace millrace::chat::jinja
