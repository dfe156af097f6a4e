#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "quant/format.h"

namespace millrace::quant {
namespace {

constexpr std::size_t kValues = 32, kBytes = 17;
using Block = std::array<std::byte, kBytes>;

const QuantFormat& mxfp4() { return *find_format("mxfp4"); }

Block packed(const std::vector<float>& values) {
  Block block;
  mxfp4().pack(values, block.data());
  return block;
}

// One value beside a largest one of 6: the exponent byte is 127, so that e2m1 numbers are what they are.
float rounded(float value) {
  std::vector<float> values(kValues, 0.0f), out(kValues);
  values[0] = 6.0f;
  values[17] = value;
  mxfp4().unpack(packed(values).data(), out);
  return out[17];
}

TEST(Mxfp4, IsExactForEveryExponentAndCode) {
  constexpr float kE2m1[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  std::vector<float> out(kValues);
  for (int e = 0; e < 256; ++e) {
    Block block{static_cast<std::byte>(e)};
    for (std::size_t i = 0; i < 16; ++i) block[i + 1] = static_cast<std::byte>(i | (15 - i) << 4);
    mxfp4().unpack(block.data(), out);
    for (std::size_t i = 0; i < kValues; ++i) {
      const std::size_t code = i < 16 ? i : 31 - i;
      const double value = std::ldexp(code < 8 ? kE2m1[code] : -kE2m1[code - 8], e - 127);
      EXPECT_EQ(out[i], static_cast<float>(value)) << "exponent " << e << " code " << code;
    }
  }
}

TEST(Mxfp4, TakesTheExponentOfTheLargestValue) {
  const auto exponent = [](float largest) {
    std::vector<float> values(kValues, 0.0f);
    values[5] = -largest;
    return std::to_integer<int>(packed(values)[0]);
  };
  EXPECT_EQ(exponent(4.0f), 127);
  EXPECT_EQ(exponent(std::nextafter(8.0f, 0.0f)), 127);  // becomes 6
  EXPECT_EQ(exponent(8.0f), 128);
  EXPECT_EQ(exponent(0x1p-125f), 0);
  EXPECT_EQ(exponent(0x1p-149f), 0);
  EXPECT_EQ(exponent(0.0f), 0);
  EXPECT_EQ(exponent(0x1.fffffep127f), 252);
}

TEST(Mxfp4, RoundsToTheNearestAndTiesToTheSmaller) {
  EXPECT_EQ(rounded(0.25f), 0.0f);
  EXPECT_FALSE(std::signbit(rounded(-0.25f)));
  EXPECT_EQ(rounded(0.26f), 0.5f);
  EXPECT_EQ(rounded(-0.75f), -0.5f);
  EXPECT_EQ(rounded(1.75f), 1.5f);
  EXPECT_EQ(rounded(-2.51f), -3.0f);
  EXPECT_EQ(rounded(5.0f), 4.0f);
  EXPECT_EQ(rounded(-5.01f), -6.0f);
}

}  // namespace
}  // namespace millrace::quant
