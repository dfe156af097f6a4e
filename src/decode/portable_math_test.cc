#include "base/portable_math.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>

#include "decode/softmax.h"

namespace millrace {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(PortableMath, ExpAndLogAreThoseOfTheLibraryButForTheLastBits) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-700.0, 700.0), near_one(-0.01, 0.01);
  for (int i = 0; i < 200000; ++i) {
    for (const double x : {exponent(random), near_one(random)}) {
      ASSERT_NEAR(portable_exp(x) / std::exp(x), 1.0, 5e-16) << x;
      const double y = std::exp(x);
      ASSERT_LE(std::abs(portable_log(y) - std::log(y)), 3e-16 * std::abs(std::log(y))) << y;
    }
  }
}

TEST(PortableMath, TheEndsOfTheRangesAreWhatTheySay) {
  EXPECT_EQ(portable_exp(0.0), 1.0);
  EXPECT_EQ(portable_exp(-709.0), 0.0);
  EXPECT_EQ(portable_exp(-kInfinity), 0.0);
  EXPECT_EQ(portable_exp(710.0), kInfinity);
  EXPECT_TRUE(std::isnan(portable_exp(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_EQ(portable_log(1.0), 0.0);
  EXPECT_EQ(portable_log(0.0), -kInfinity);
  EXPECT_EQ(portable_log(kInfinity), kInfinity);
}

TEST(Softmax, WeightsAreTheSameBitsForEachInstructionSet) {
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal(0.0f, 40.0f);
  for (int round = 0; round < 200; ++round) {
    float logits[256], largest = -1e30f;
    for (float& x : logits) largest = std::max(largest, x = normal(random));
    if (round % 3 == 0) logits[round] = -std::numeric_limits<float>::infinity();
    double expected[256], found[256];
    const double sum = decode::weigh_block_kernel(Isa::kScalar)(logits, largest, expected);
    for (int i = 0; i < 256; ++i) {
      const double x = static_cast<double>(logits[i]) - static_cast<double>(largest);
      ASSERT_EQ(expected[i], portable_exp(x)) << x;
    }
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512Vnni}) {
      if (isa > detect_isa()) continue;
      ASSERT_EQ(decode::weigh_block_kernel(isa)(logits, largest, found), sum);
      for (std::size_t i = 0; i < std::size(found); ++i) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(found[i]), std::bit_cast<std::uint64_t>(expected[i])) << i;
      }
    }
  }
}

}  // namespace
}  // namespace millrace
