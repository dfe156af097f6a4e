#include "model/adapters/step_adapters.h"

#include <algorithm>

namespace millrace::model {

void StepAdapters::begin(std::span<const AdapterRange> ranges, std::int64_t products) {
  ranges_ = ranges;
  lists_.resize(static_cast<std::size_t>(products));
}

std::span<const backend::AdapterRows> StepAdapters::of(std::int64_t place) {
  if (ranges_.empty()) return {};
  std::vector<backend::AdapterRows>& list = lists_[static_cast<std::size_t>(place)];
  list.clear();
  for (const AdapterRange& range : ranges_) {
    const backend::LowRank* weights = range.adapter->weights(place);
    if (weights != nullptr) list.push_back({range.first_row, range.n_rows, weights, range.scale});
  }
  return list;
}

std::span<const backend::AdapterRows> StepAdapters::of(std::int64_t place, std::span<const std::int64_t> rows) {
  of(place);
  if (ranges_.empty()) return {};
  std::vector<backend::AdapterRows>& list = lists_[static_cast<std::size_t>(place)];
  for (backend::AdapterRows& adapter : list) {
    const auto first = std::ranges::lower_bound(rows, adapter.first_row);
    const auto end = std::ranges::lower_bound(rows, adapter.first_row + adapter.n_rows);
    adapter.first_row = first - rows.begin();
    adapter.n_rows = end - first;
  }
  std::erase_if(list, [](const backend::AdapterRows& adapter) { return adapter.n_rows == 0; });
  return list;
}

}  // namespace millrace::model
