#include "backend/cpu/activation_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backend/cpu/testing/reference.h"
#include "base/buffer.h"

namespace millrace::backend::cpu {
namespace {

constexpr std::int64_t kWidth = 3 * kBlockGroups * kGroup;

// Of int8 rows with what rounding left.
const std::vector<std::int32_t> kInOrder[1];
ActivationForm form_of(ActivationType type) {
  return {.k = kWidth, .types = 1u << static_cast<int>(type), .remainder = true, .orders = kInOrder};
}

// The same bits.
bool same(const Int8Group& a, const Int8Group& b) {
  return std::ranges::equal(a.codes, b.codes) &&
         std::bit_cast<std::uint32_t>(a.scale) == std::bit_cast<std::uint32_t>(b.scale) && a.minus_sum == b.minus_sum &&
         std::ranges::equal(a.minus_half_sum, b.minus_half_sum);
}

class ActivationRowsOf : public testing::TestWithParam<ActivationType> {};

// However many rows are stored, in whatever pieces, and through whatever view a row is looked at.
TEST_P(ActivationRowsOf, EveryViewHasTheGroupsOfEachRow) {
  const ActivationType type = GetParam();
  const ActivationForm form = form_of(type);
  const KernelSet kernels = select_kernels(Isa::kScalar);
  for (const std::int64_t rows : {1, 2, 15, 16, 17, 23, 32, 40}) {
    const std::vector<float> x = normal_values(static_cast<std::size_t>(rows * kWidth), 3);
    Buffer memory = Buffer::allocate(ActivationRows(form, rows, nullptr).bytes()).or_throw();
    const ActivationRows stored(form, rows, memory.data());
    for (std::int64_t r = rows - 1; r >= 0; --r) {
      stored.put(kernels, r, 0, x.data() + r * kWidth, 2 * kGroup);
      stored.put(kernels, r, 2 * kGroup, x.data() + r * kWidth + 2 * kGroup, kWidth - 2 * kGroup);
      stored.finish_rows(kernels, r, r + 1);
    }
    const auto expect_rows = [&](std::int64_t first, std::int64_t n) {
      const Activations view = stored.view(type, first, n), left = stored.remainder(type, first, n);
      ASSERT_EQ(view.rows, n);
      for (std::int64_t r = 0; r < n; ++r) {
        Int8Group alone[kWidth / kGroup], alone_left[kWidth / kGroup];
        const float* row = x.data() + (first + r) * kWidth;
        kernels.quantize(row, kWidth, type, alone, 1);
        kernels.quantize_remainder(row, kWidth, type, alone, alone_left, 1);
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

// Columns that ranks have made of a row each, put together by one of them.
TEST(ActivationRows, ArePutTogetherFromColumns) {
  const ActivationForm form = form_of(ActivationType::kInt8);
  const KernelSet kernels = select_kernels(Isa::kScalar);
  constexpr std::int64_t kBorder = 5 * kGroup;
  ASSERT_TRUE(form.can_be_cut(std::vector<std::int64_t>{0, kBorder, kWidth}));
  EXPECT_EQ(form.cut_bytes(kBorder), 2 * 5 * sizeof(Int8Group));  // with remainders
  for (const std::int64_t rows : {1, 17, 40}) {
    const std::vector<float> x = normal_values(static_cast<std::size_t>(rows * kWidth), 3);
    const std::size_t bytes = ActivationRows(form, rows, nullptr).bytes();
    Buffer of_one = Buffer::allocate(bytes).or_throw(), of_first = Buffer::allocate(bytes).or_throw();
    Buffer of_second = Buffer::allocate(bytes).or_throw();
    const ActivationRows one(form, rows, of_one.data()), first(form, rows, of_first.data());
    const ActivationRows second(form, rows, of_second.data());
    std::vector<std::byte> sent(form.cut_bytes(kWidth - kBorder));
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* row = x.data() + r * kWidth;
      one.store_row(kernels, r, row);
      first.put(kernels, r, 0, row, kBorder);
      second.put(kernels, r, kBorder, row + kBorder, kWidth - kBorder);
      second.save_columns(r, kBorder, kWidth - kBorder, sent.data());
      first.load_columns(r, kBorder, kWidth - kBorder, sent.data());
    }
    EXPECT_EQ(std::memcmp(of_one.data(), of_first.data(), bytes), 0) << rows;
  }
}

TEST(ActivationRows, AreNotCutWhereColumnsDependOnOthers) {
  const std::vector<std::int64_t> borders = {0, 5 * kGroup, kWidth}, within = {0, 5 * kGroup + 16, kWidth};
  EXPECT_FALSE(form_of(ActivationType::kInt8).can_be_cut(within));
  for (const ActivationType type : {ActivationType::kInt8Block, ActivationType::kInt8Row, ActivationType::kF32}) {
    EXPECT_FALSE(form_of(type).can_be_cut(borders));
  }
  ActivationForm turned = form_of(ActivationType::kInt8);
  const std::vector<std::int32_t> orders[1] = {std::vector<std::int32_t>(kWidth)};
  turned.orders = orders;
  EXPECT_FALSE(turned.can_be_cut(borders));
}

INSTANTIATE_TEST_SUITE_P(Int8, ActivationRowsOf,
                         testing::Values(ActivationType::kInt8, ActivationType::kInt8Block, ActivationType::kInt8Row));

// All instruction sets round alike: values of one size and of many, zeros, denormals, what is not finite.
TEST(Int8Quantization, InstructionSetsGiveTheSameBits) {
  std::vector<float> x = normal_values(static_cast<std::size_t>(kWidth), 7);
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t group = i / 32;
    x[i] *= std::exp2(-3.0f * static_cast<float>(group));
  }
  for (std::size_t i = 256; i < 300; ++i) x[i] = 0.0f;
  std::vector<float> tiny(x), broken(x);
  for (float& v : tiny) v *= 1e-39f;
  broken[700] = std::numeric_limits<float>::infinity();
  const KernelSet scalar = select_kernels(Isa::kScalar);
  for (const auto& values : {x, tiny, broken}) {
    for (const ActivationType type : {ActivationType::kInt8, ActivationType::kInt8Block, ActivationType::kInt8Row}) {
      Int8Group expected[kWidth / kGroup], left[kWidth / kGroup];
      scalar.quantize(values.data(), kWidth, type, expected, 1);
      scalar.quantize_remainder(values.data(), kWidth, type, expected, left, 1);
      for (const KernelSet* set : supported_sets()) {
        if (set->quantize == nullptr) continue;
        Int8Group groups[kWidth / kGroup], rest[kWidth / kGroup];
        set->quantize(values.data(), kWidth, type, groups, 1);
        set->quantize_remainder(values.data(), kWidth, type, groups, rest, 1);
        for (std::int64_t g = 0; g < kWidth / kGroup; ++g) {
          if (std::isnan(expected[g].scale)) {
            EXPECT_TRUE(std::isnan(groups[g].scale));
            continue;
          }
          EXPECT_TRUE(same(groups[g], expected[g])) << to_string(set->isa) << ": group " << g;
          EXPECT_TRUE(same(rest[g], left[g])) << to_string(set->isa) << ": remainder of group " << g;
        }
      }
    }
  }
}

// Just above the sizes that count as zeros, beside zeros and smaller values.
TEST(Int8Quantization, SmallValuesKeepTheirDistance) {
  const KernelSet kernels = select_kernels(detect_isa());
  for (const float largest : {1e-36f, 2e-36f, 7e-36f, 9e-36f, 1e-35f}) {
    std::vector<float> x(static_cast<std::size_t>(kWidth), 0.0f);
    x[5] = largest;
    x[40] = -0.01f * largest;
    Int8Group groups[kWidth / kGroup];
    kernels.quantize(x.data(), kWidth, ActivationType::kInt8Block, groups, 1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Int8Group& group = groups[i / kGroup];
      ASSERT_TRUE(std::isfinite(group.scale));
      if (x[i] == 0.0f) {
        EXPECT_EQ(group.codes[i % kGroup], 0) << largest << " at " << i;
      }
      const double seen = static_cast<double>(group.scale) * group.multiplier[0] * group.codes[i % kGroup];
      EXPECT_NEAR(seen, x[i], largest < 8e-36f ? largest : largest / 127.0f) << largest << " at " << i;
    }
  }
}

}  // namespace
}  // namespace millrace::backend::cpu
