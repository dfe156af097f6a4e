#include "decode/threshold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace millrace::decode {
namespace {

TEST(Threshold, KeysAreOrderedAsTheirNumbers) {
  const float numbers[] = {-std::numeric_limits<float>::infinity(), -1e30f, -1.0f, -1e-40f, 0.0f, 1e-40f, 1.0f, 3e38f};
  for (std::size_t i = 1; i < std::size(numbers); ++i) {
    EXPECT_LT(ordered_key(numbers[i - 1]), ordered_key(numbers[i]));
  }
  EXPECT_EQ(ordered_key(-0.0f), ordered_key(0.0f));
}

// Against a stable sort, with many equal keys; masses are binary fractions, so that sums have no rounding.
TEST(Threshold, KeepsWhatAStableSortWouldHaveFirst) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t n = 1 + random() % 50;
    std::vector<std::uint32_t> keys(n);
    std::vector<double> masses(n);
    for (std::uint32_t& key : keys) key = round % 2 == 0 ? static_cast<std::uint32_t>(random()) : random() % 5;
    for (double& mass : masses) mass = static_cast<double>(random() % 64) / 64.0;
    if (round % 3 == 0) masses.clear();
    const double all = masses.empty() ? static_cast<double>(n) : std::accumulate(masses.begin(), masses.end(), 0.0);
    const double enough = 0.125 + static_cast<double>(random() % 16) / 16.0 * (all + 1.0);

    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return keys[a] > keys[b]; });
    double sum = 0.0;
    std::size_t kept = 0;
    for (; kept < n && sum < enough; ++kept) sum += masses.empty() ? 1.0 : masses[order[kept]];
    std::vector<std::size_t> expected(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept));
    std::ranges::sort(expected);

    std::vector<std::size_t> items(n);
    std::iota(items.begin(), items.end(), 0);
    keep_above(find_threshold(keys, masses, enough), keys, items);
    ASSERT_EQ(items, expected) << round;
  }
}

}  // namespace
}  // namespace millrace::decode
