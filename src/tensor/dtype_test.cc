#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>

namespace millrace {
namespace {

TEST(DType, EveryHalfSurvivesARoundTripThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f16_to_f32(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(value))));
    } else {
      ASSERT_EQ(f32_to_f16(value), half) << "bits " << bits;
    }
    const float wide = bf16_to_f32(half);
    if (!std::isnan(wide)) {
      ASSERT_EQ(f32_to_bf16(wide), half) << "bits " << bits;
    }
  }
}

TEST(DType, NarrowingRoundsToNearestEven) {
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3c00);             // a tie goes to even
  EXPECT_EQ(f32_to_f16(1.0f + 3 * 0x1p-11f), 0x3c02);         // a tie goes to even, upwards
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);  // above the tie
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);                    // halfway to 2^16: infinity
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);  // half the smallest denormal: a tie, to even
  EXPECT_EQ(f32_to_f16(0x1.8p-25f), 0x0001);
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1.0f + 3 * 0x1p-8f), 0x3f82);
}

}  // namespace
}  // namespace millrace
