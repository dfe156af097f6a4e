#include "loadtest/confidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "metrics/statistics.h"

namespace millrace::loadtest {
namespace {

TEST(Wilson, GivesPublishedIntervals) {
  // Newcombe 1998, table I, method 3 (score, no continuity correction).
  const auto expect = [](std::int64_t good, std::int64_t all, double low, double high) {
    const Estimate share = wilson(good, all);
    EXPECT_NEAR(share.low, low, 5e-5) << good << "/" << all;
    EXPECT_NEAR(share.high, high, 5e-5) << good << "/" << all;
  };
  expect(81, 263, 0.2553, 0.3662);
  expect(15, 148, 0.0624, 0.1605);
  expect(0, 20, 0.0, 0.1611);
  expect(1, 29, 0.0061, 0.1718);
}

TEST(Wilson, StaysWithinZeroAndOne) {
  EXPECT_EQ(wilson(10, 10).high, 1.0);
  EXPECT_LT(wilson(10, 10).low, 1.0);
  EXPECT_EQ(wilson(0, 10).low, 0.0);
  const Estimate nothing = wilson(0, 0);
  EXPECT_EQ(nothing.low, 0.0);
  EXPECT_EQ(nothing.high, 1.0);
}

TEST(StudentT, GivesTabulatedQuantiles) {
  EXPECT_NEAR(student_t(1), 12.706, 1e-3);
  EXPECT_NEAR(student_t(3), 3.182, 1e-3);
  EXPECT_NEAR(student_t(5), 2.571, 1e-3);
  EXPECT_NEAR(student_t(9), 2.262, 1e-3);
  EXPECT_NEAR(student_t(100000), 1.96, 1e-3);
  EXPECT_TRUE(std::isinf(student_t(0)));
}

TEST(Bootstrap, DrawsAsManyUnitsAsThereAre) {
  int draws = 0;
  std::vector<std::int64_t> seen(7);
  draw_with_replacement(7, 5000, 3, [&](std::span<const int> times) {
    int sum = 0;
    for (std::size_t i = 0; i < 7; ++i) sum += times[i], seen[i] += times[i];
    EXPECT_EQ(sum, 7);
    ++draws;
  });
  EXPECT_EQ(draws, 5000);
  for (const std::int64_t count : seen) EXPECT_NEAR(static_cast<double>(count), 5000, 300);  // 4 standard deviations
}

TEST(Bootstrap, OfNothingIsZeroAndOfOneUnitHasNoWidth) {
  const Estimate none = bootstrap(0, [](std::span<const int>) { return 9.0; });
  EXPECT_EQ(none.value, 0.0);
  EXPECT_EQ(none.high, 0.0);
  const Estimate one = bootstrap(1, [](std::span<const int>) { return 9.0; });
  EXPECT_EQ(one.low, 9.0);
  EXPECT_EQ(one.value, 9.0);
  EXPECT_EQ(one.high, 9.0);
}

TEST(Bootstrap, IsTheSameForASeedAndDiffersForAnother) {
  const std::vector<double> values = {1.0, 5.0, 2.0, 8.0, 3.0, 9.0, 4.0};
  const auto mean = [&](std::span<const int> times) {
    double sum = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * times[i];
    return sum / static_cast<double>(values.size());
  };
  EXPECT_EQ(bootstrap(7, mean, 200, 1).low, bootstrap(7, mean, 200, 1).low);
  EXPECT_NE(bootstrap(7, mean, 200, 1).low, bootstrap(7, mean, 200, 2).low);
}

// The share of 400 simulated data sets whose interval holds the truth.
double coverage(int n, double truth, const std::function<Estimate(const std::vector<double>&)>& interval,
                const std::function<double(std::mt19937_64&)>& draw) {
  int held = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(draw(random));
    const Estimate estimate = interval(values);
    held += estimate.low <= truth && truth <= estimate.high ? 1 : 0;
  }
  return held / 400.0;
}

TEST(Bootstrap, IntervalOfAMeanHoldsTheTruthInNineteenOfTwentyDataSets) {
  const auto of_mean = [](const std::vector<double>& values) {
    return bootstrap(
        static_cast<std::int64_t>(values.size()),
        [&](std::span<const int> times) {
          double sum = 0.0;
          for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * times[i];
          return sum / static_cast<double>(values.size());
        },
        400);
  };
  for (const int n : {8, 40, 200}) {
    const double share = coverage(
        n, 5.0, of_mean, [](std::mt19937_64& random) { return std::normal_distribution<double>(5.0, 2.0)(random); });
    EXPECT_GE(share, 0.90) << n;
    EXPECT_LE(share, 0.98) << n;
  }
}

TEST(PairedRatio, IntervalHoldsTheTruthThoughTheMachineDriftsFromRoundToRound) {
  for (const int rounds : {6, 10, 30}) {
    int held = 0;
    double width = 0.0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      std::mt19937_64 random(seed);
      std::normal_distribution<double> noise(0.0, 0.03);
      std::vector<double> a, b;
      for (int i = 0; i < rounds; ++i) {
        const double machine = std::uniform_real_distribution<double>(50.0, 150.0)(random);  // both sides of a round
        a.push_back(machine * std::exp(noise(random)));
        b.push_back(1.1 * machine * std::exp(noise(random)));
      }
      const Estimate ratio = paired_ratio(a, b, seed);
      held += ratio.low <= 1.1 && 1.1 <= ratio.high ? 1 : 0;
      width += (ratio.high - ratio.low) / 400;
    }
    EXPECT_GE(held / 400.0, 0.90) << rounds;
    EXPECT_LE(held / 400.0, 0.985) << rounds;
    EXPECT_LT(width, 0.14) << rounds;
  }
}

TEST(PairedRatio, LeavesOutRoundsWithoutAMetric) {
  const std::vector<double> a = {10.0, 0.0, 10.0, 10.0}, b = {20.0, 5.0, 20.0, 0.0};
  EXPECT_DOUBLE_EQ(paired_ratio(a, b).value, 2.0);
  EXPECT_DOUBLE_EQ(paired_ratio(a, b).low, 2.0);
  EXPECT_EQ(paired_ratio({}, {}).value, 0.0);
  EXPECT_DOUBLE_EQ(paired_ratio(std::vector<double>{1.0, 1.0}, std::vector<double>{4.0, 2.0}).value, 3.0);
  EXPECT_DOUBLE_EQ(paired_ratio(std::vector<double>{1.0, 1.0, 1.0}, std::vector<double>{4.0, 2.0, 2.5}).value, 2.5);
}

}  // namespace
}  // namespace millrace::loadtest
