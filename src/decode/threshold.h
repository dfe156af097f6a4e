#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decode/candidates.h"

namespace millrace::decode {

// Larger numbers have larger keys; the two zeros have the same. Not for NaN.
inline std::uint32_t ordered_key(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x + 0.0f);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}

// The smallest set of the largest keys whose masses sum to `enough`, all if they do not: all keys above `key`, and the
// first `of_equal` that equal it.
struct Threshold {
  std::uint32_t key = 0;
  std::size_t of_equal = 0;
};

// Masses are not negative; with none given each key has 1. There is at least one key and `enough` > 0. Three passes of
// counting by the key's leading bits, whatever the numbers: no sort. Sums run in the order of the keys' places.
Threshold find_threshold(std::span<const std::uint32_t> keys, std::span<const double> masses, double enough);

// Leaves those out that are on the wrong side; `keys` are of `items`, in their order.
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

// Keeps the likeliest candidates. With no masses `enough` is a whole number.
void keep_likeliest(Candidates& candidates, std::span<const double> masses, double enough);

}  // namespace millrace::decode
