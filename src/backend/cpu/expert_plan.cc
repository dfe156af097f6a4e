#include "backend/cpu/expert_plan.h"

#include <algorithm>
#include <bit>

namespace millrace::backend::cpu {
namespace {

template <typename T>
void at_least(std::vector<T>& values, std::int64_t n) {
  if (std::ssize(values) < n) values.resize(static_cast<std::size_t>(n));
}

}  // namespace

void ExpertPlan::reserve(std::int64_t rows, std::int64_t chosen, std::int64_t experts) {
  const std::int64_t pairs = rows * chosen;
  at_least(pairs_, pairs);
  at_least(places_, pairs);
  at_least(next_, experts);
  at_least(groups_, std::min(experts, pairs));
  at_least(blocks_, pairs);
}

std::int64_t ExpertPlan::max_blocks(std::int64_t rows, std::int64_t chosen, std::int64_t experts,
                                    std::int64_t block) noexcept {
  const std::int64_t pairs = rows * chosen;
  return std::min(pairs, std::min(experts, pairs) + pairs / block);
}

void ExpertPlan::make(const TensorView& routes, std::int64_t experts, std::int64_t block,
                      std::uint32_t* census) noexcept {
  const std::int64_t rows = routes.rows(), chosen = routes.cols() / 2;
  const auto expert_of = [&](std::int64_t t, std::int64_t j) {
    return static_cast<std::size_t>(std::bit_cast<std::int32_t>(routes.row(t)[j]));
  };
  std::fill_n(next_.begin(), experts, 0);
  for (std::int64_t t = 0; t < rows; ++t) {
    for (std::int64_t j = 0; j < chosen; ++j) ++next_[expert_of(t, j)];
  }
  n_groups_ = n_blocks_ = 0;
  std::int32_t first = 0;
  for (std::int32_t e = 0; e < experts; ++e) {
    std::int32_t& next = next_[static_cast<std::size_t>(e)];
    const std::int32_t count = next;
    if (census != nullptr) census[e] = static_cast<std::uint32_t>(count);
    next = first;
    if (count > 0) groups_[n_groups_++] = {e, first, count};
    for (std::int32_t done = 0; block > 0 && done < count; done += static_cast<std::int32_t>(block)) {
      blocks_[n_blocks_++] = {e, first + done, std::min(count - done, static_cast<std::int32_t>(block))};
    }
    first += count;
  }
  for (std::int64_t t = 0; t < rows; ++t) {
    for (std::int64_t j = 0; j < chosen; ++j) {
      const std::int32_t place = next_[expert_of(t, j)]++;
      pairs_[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(t * chosen + j);
      places_[static_cast<std::size_t>(t * chosen + j)] = place;
    }
  }
  std::sort(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(n_blocks_),
            [](const Group& a, const Group& b) { return a.count != b.count ? a.count > b.count : a.first < b.first; });
}

}  // namespace millrace::backend::cpu
