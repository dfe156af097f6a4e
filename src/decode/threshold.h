#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decode/candidates.h"

namespace millrace::decode {

// A key that orders floats: larger numbers have larger keys, and the two zeros the same. Not for NaN.
inline std::uint32_t ordered_key(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x + 0.0f);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

// A selection of the largest keys: all above `key`, and the first `of_equal` that are equal to it.
struct Threshold {
  std::uint32_t key = 0;
  std::size_t of_equal = 0;
};

// The smallest set of the largest keys whose masses sum to at least `enough`; all keys if they do not. Masses are >= 0;
// if `masses` is empty each key has mass 1. There must be at least one key, and `enough` > 0. Three counting passes
// over leading bits of the keys, no sort. Sums run in the order of the keys.
Threshold find_threshold(std::span<const std::uint32_t> keys, std::span<const double> masses, double enough);

// Removes the items outside the selection. keys[i] is the key of items[i].
template <typename T>
void keep_above(const Threshold& threshold, std::span<const std::uint32_t> keys, std::vector<T>& items) {
  std::size_t kept = 0, equal = threshold.of_equal;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (keys[i] < threshold.key || (keys[i] == threshold.key && equal == 0)) continue;
    if (keys[i] == threshold.key) --equal;
    items[kept++] = items[i];
  }
  items.resize(kept);
}

// Keeps the likeliest candidates whose masses sum to at least `enough`. Without masses `enough` is their number.
void keep_likeliest(Candidates& candidates, std::span<const double> masses, double enough);

}  // namespace millrace::decode
