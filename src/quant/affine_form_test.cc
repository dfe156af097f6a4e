#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "quant/format.h"
#include "quant/group_format.h"

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

std::vector<const QuantFormat*> formats_with_form() {
  std::vector<const QuantFormat*> formats;
  for (const auto some : {all_formats(), group_formats()}) {
    for (const QuantFormat& format : some) {
      if (format.affine.decompose != nullptr) formats.push_back(&format);
    }
  }
  return formats;
}

TEST(AffineForm, ComputesWhatUnpackComputes) {
  std::mt19937 random(7);
  EXPECT_EQ(formats_with_form().size(), 25 + group_formats().size() - 4);
  for (const QuantFormat* one : formats_with_form()) {
    const QuantFormat& format = *one;
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
        ASSERT_EQ(form.value(parts, i), expected[static_cast<std::size_t>(i)]) << format.name << " value " << i;
      }
    }
  }
}

}  // namespace
}  // namespace millrace::quant
