#include "loadtest/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace millrace::loadtest {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::vector<double> gaps_of(const std::vector<double>& starts) {
  std::vector<double> gaps(starts.size() - 1);
  for (std::size_t i = 0; i < gaps.size(); ++i) gaps[i] = starts[i + 1] - starts[i];
  return gaps;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variation(const std::vector<double>& values) {
  const double m = mean(values);
  double sum = 0.0;
  for (const double v : values) sum += (v - m) * (v - m);
  return std::sqrt(sum / static_cast<double>(values.size())) / m;
}

TEST(Arrivals, HaveTheRateInTotalAndTheBurstinessInTheGaps) {
  for (const double burstiness : {0.25, 0.7, 1.0, 2.5, 16.0}) {
    const auto starts = schedule({.rate = 8.0, .burstiness = burstiness, .seed = 3}, 20001);
    EXPECT_EQ(starts.front(), 0.0);
    EXPECT_EQ(starts.back(), 20000 / 8.0);
    EXPECT_TRUE(std::ranges::is_sorted(starts));
    const auto gaps = gaps_of(starts);
    EXPECT_NEAR(mean(gaps), 1.0 / 8.0, 1e-9);
    // The standard error of it is below 2 % for these.
    EXPECT_NEAR(variation(gaps), 1.0 / std::sqrt(burstiness), 0.06 / std::sqrt(burstiness)) << burstiness;
  }
}

TEST(Arrivals, OfAPoissonProcessHaveExponentialGaps) {
  auto gaps = gaps_of(schedule({.rate = 1.0, .seed = 11}, 10001));
  std::ranges::sort(gaps);
  double distance = 0.0;  // of Kolmogorov and Smirnov
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    distance = std::max(distance, std::abs(1.0 - std::exp(-gaps[i]) - static_cast<double>(i) / 10000.0));
  }
  EXPECT_LT(distance, 0.0195);  // 99.9 % of true ones
}

TEST(Arrivals, AreEquallyFarApartWithoutBursts) {
  const auto starts = schedule({.rate = 4.0, .burstiness = kInfinite}, 9);
  for (std::size_t i = 0; i < starts.size(); ++i) EXPECT_NEAR(starts[i], 0.25 * static_cast<double>(i), 1e-12);
}

TEST(Arrivals, DependOnTheSeedAlone) {
  const Arrivals one{.rate = 2.0, .burstiness = 0.5, .seed = 1}, two{.rate = 2.0, .burstiness = 0.5, .seed = 2};
  EXPECT_EQ(schedule(one, 100), schedule(one, 100));
  EXPECT_NE(schedule(one, 100), schedule(two, 100));
  // Fixed for ever, whatever the machine and its mathematics library.
  const auto starts = schedule({.rate = 1.0, .burstiness = 2.0, .seed = 42}, 4);
  EXPECT_EQ(starts[1], 0x1.735c7fb659097p+0);
  EXPECT_EQ(starts[2], 0x1.d0197d4650f28p+0);
}

TEST(Arrivals, RampTheirRate) {
  const auto linear = gaps_of(
      schedule({.burstiness = kInfinite, .ramp = Arrivals::Ramp::kLinear, .start_rate = 1.0, .end_rate = 5.0}, 5));
  ASSERT_EQ(linear.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(linear[i], 1.0 / (2.0 + static_cast<double>(i)), 1e-12);
  const auto exponential = gaps_of(schedule(
      {.burstiness = kInfinite, .ramp = Arrivals::Ramp::kExponential, .start_rate = 1.0, .end_rate = 16.0}, 5));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(exponential[i], std::pow(0.5, static_cast<double>(i + 1)), 1e-12);
  // Bursts of a ramp are not scaled away: the total differs by seed.
  const Arrivals bursty{.ramp = Arrivals::Ramp::kLinear, .start_rate = 1.0, .end_rate = 5.0, .seed = 5};
  const auto starts = schedule(bursty, 20001);
  EXPECT_NEAR(starts.back(), 20000.0 * std::log(5.0) / 4.0, 150.0);
}

TEST(Arrivals, MayBeNoneOneOrAllAtOnce) {
  EXPECT_TRUE(schedule({.rate = 1.0}, 0).empty());
  EXPECT_EQ(schedule({.rate = 1.0}, 1), std::vector<double>{0.0});
  EXPECT_EQ(schedule({.rate = kInfinite}, 3), (std::vector<double>{0.0, 0.0, 0.0}));
}

}  // namespace
}  // namespace millrace::loadtest
