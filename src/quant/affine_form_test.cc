#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "quant/format.h"

namespace millrace::quant {
namespace {

TEST(AffineForm, ComputesWhatUnpackComputes) {
  std::mt19937 random(7);
  int forms = 0;
  for (const QuantFormat& format : all_formats()) {
    if (format.affine.decompose == nullptr) continue;
    ++forms;
    const AffineForm& form = format.affine;
    std::vector<float> values(static_cast<std::size_t>(format.block_values)), expected(values.size());
    std::vector<std::byte> block(static_cast<std::size_t>(format.block_bytes));
    for (int trial = 0; trial < 50; ++trial) {
      std::normal_distribution<float> normal(0.01f, 1.0f);
      for (float& v : values) v = normal(random);
      format.pack(values, block.data());
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
  EXPECT_EQ(forms, 11);
}

}  // namespace
}  // namespace millrace::quant
