#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "quant/format.h"

namespace millrace::quant {
namespace {

// A block of moderate values: packed, or of a format that is only read random bytes, drawn again until they are finite.
void fill(const QuantFormat& format, std::mt19937& random, std::span<std::byte> block) {
  std::vector<float> values(static_cast<std::size_t>(format.block_values));
  std::normal_distribution<float> normal(0.01f, 1.0f);
  if (format.pack != nullptr) {
    for (float& v : values) v = normal(random);
    return format.pack(values, block.data());
  }
  const auto is_finite = [](float v) { return std::isfinite(v); };
  do {
    for (std::byte& b : block) b = static_cast<std::byte>(random());
    format.unpack(block.data(), values);
  } while (!std::ranges::all_of(values, is_finite));
}

TEST(AffineForm, ComputesWhatUnpackComputes) {
  std::mt19937 random(7);
  int forms = 0;
  for (const QuantFormat& format : all_formats()) {
    if (format.affine.decompose == nullptr) continue;
    ++forms;
    const AffineForm& form = format.affine;
    std::vector<float> expected(static_cast<std::size_t>(format.block_values));
    std::vector<std::byte> block(static_cast<std::size_t>(format.block_bytes));
    for (int trial = 0; trial < 50; ++trial) {
      fill(format, random, block);
      format.unpack(block.data(), expected);
      AffineBlock parts;
      form.decompose(block.data(), parts);
      for (int i = 0; i < format.block_values; ++i) {
        ASSERT_LT(parts.codes[i], 1 << form.code_bits) << format.name;
        const int s = i / form.scale_group;
        const float value = form.scale(parts, s) * static_cast<float>(form.steps(parts.codes[i])) + form.min(parts, s);
        ASSERT_EQ(value, expected[static_cast<std::size_t>(i)]) << format.name << " value " << i;
      }
    }
  }
  EXPECT_EQ(forms, 31);
}

}  // namespace
}  // namespace millrace::quant
