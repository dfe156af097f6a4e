#include "backend/cpu/activation_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "backend/cpu/testing/reference.h"
#include "base/buffer.h"

namespace millrace::backend::cpu {
namespace {

constexpr std::int64_t kWidth = 5 * kGroup;

// Of int8 rows with what rounding left.
const std::vector<std::int32_t> kInOrder[1];
const ActivationForm kForm{
    .k = kWidth, .types = 1u << static_cast<int>(ActivationType::kInt8), .remainder = true, .orders = kInOrder};

// The same bits.
bool same(const Int8Group& a, const Int8Group& b) {
  return std::ranges::equal(a.codes, b.codes) &&
         std::bit_cast<std::uint32_t>(a.scale) == std::bit_cast<std::uint32_t>(b.scale) && a.minus_sum == b.minus_sum &&
         std::ranges::equal(a.minus_half_sum, b.minus_half_sum);
}

// However many rows are stored, in whatever pieces, and through whatever view a row is looked at.
TEST(ActivationRows, EveryViewHasTheGroupsOfEachRow) {
  const KernelSet kernels = select_kernels(Isa::kScalar);
  for (const std::int64_t rows : {1, 2, 15, 16, 17, 23, 32, 40}) {
    const std::vector<float> x = normal_values(static_cast<std::size_t>(rows * kWidth), 3);
    Buffer memory = Buffer::allocate(ActivationRows(kForm, rows, nullptr).bytes()).or_throw();
    const ActivationRows stored(kForm, rows, memory.data());
    for (std::int64_t r = rows - 1; r >= 0; --r) {
      stored.store(kernels, r, 0, x.data() + r * kWidth, 2 * kGroup);
      stored.store(kernels, r, 2 * kGroup, x.data() + r * kWidth + 2 * kGroup, kWidth - 2 * kGroup);
    }
    const auto expect_rows = [&](std::int64_t first, std::int64_t n) {
      const Activations view = stored.view(first, n), left = stored.remainder(first, n);
      ASSERT_EQ(view.rows, n);
      for (std::int64_t r = 0; r < n; ++r) {
        Int8Group alone[kWidth / kGroup], alone_left[kWidth / kGroup];
        const float* row = x.data() + (first + r) * kWidth;
        kernels.quantize(row, kWidth, alone, 1);
        kernels.quantize_remainder(row, kWidth, alone, alone_left, 1);
        for (std::int64_t g = 0; g < kWidth / kGroup; ++g) {
          EXPECT_TRUE(same(view.groups[view.int8_at(r) + g * view.int8_step(r)], alone[g]))
              << rows << " rows, " << n << " from " << first << ": row " << r << ", group " << g;
          EXPECT_TRUE(same(left.groups[left.int8_at(r) + g * left.int8_step(r)], alone_left[g]))
              << rows << " rows, " << first;
        }
      }
    };
    for (std::int64_t first = 0; first < rows; first += kTileRows) expect_rows(first, rows - first);
    for (std::int64_t r = 0; r < rows; ++r) expect_rows(r, 1);
  }
}

}  // namespace
}  // namespace millrace::backend::cpu
