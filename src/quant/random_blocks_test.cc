#include "quant/random_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace millrace::quant {
namespace {

TEST(RandomBlocks, HaveTheDeviationThatIsAskedFor) {
  std::mt19937 random(5);
  for (const QuantFormat& format : all_formats()) {
    if (!RandomBlocks::known_for(format)) continue;
    const RandomBlocks blocks(format);
    std::vector<std::byte> bytes(512 * static_cast<std::size_t>(format.block_bytes));
    std::vector<float> values(512 * static_cast<std::size_t>(format.block_values));
    std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
    for (const float deviation : {0.01f, 3.0f}) {
      blocks.set_deviation(deviation, bytes);
      format.unpack(bytes.data(), values);
      double squares = 0.0;
      for (const float v : values) squares += static_cast<double>(v) * v;
      EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size())) / deviation, 1.0, 0.05) << format.name;
    }
  }
}

TEST(RandomBlocks, AreThereForAllThatIsReadAndHasAHalfScale) {
  for (const char* name :
       {"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq4_xs", "tq1_0", "q1_0"}) {
    EXPECT_TRUE(RandomBlocks::known_for(*find_format(name))) << name;
  }
  for (const char* name : {"f32", "q4_k", "mxfp4", "nvfp4"}) {  // none, mins, and exponents
    EXPECT_FALSE(RandomBlocks::known_for(*find_format(name))) << name;
  }
}

// Every other bit stays.
TEST(RandomBlocks, ChangeNothingButTheScale) {
  for (const QuantFormat& format : all_formats()) {
    if (!RandomBlocks::known_for(format)) continue;
    const RandomBlocks blocks(format);
    std::vector<std::byte> ones(static_cast<std::size_t>(format.block_bytes), std::byte{0xff}), zeros(ones.size());
    blocks.set_deviation(1e-3f, ones);
    blocks.set_deviation(1e-3f, zeros);
    int differing = 0;
    for (std::size_t i = 0; i < ones.size(); ++i)
      differing += std::popcount(std::to_integer<unsigned>(ones[i] ^ zeros[i]));
    EXPECT_EQ(differing, 8 * format.block_bytes - 16) << format.name;
  }
}

}  // namespace
}  // namespace millrace::quant
