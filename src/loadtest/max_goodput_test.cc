#include "loadtest/max_goodput.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace millrace::loadtest {
namespace {

// A server whose share of good requests falls through 0.9 at `border` requests a second.
double true_share(double rate, double border) { return 1.0 / (1.0 + std::pow(rate / border, 12.0) / 9.0); }

GoodShare simulate(double rate, double border, std::mt19937_64& random) {
  return {std::binomial_distribution<std::int64_t>(400, true_share(rate, border))(random), 400};
}

TEST(MaxGoodput, FindsTheBorderToItsWidth) {
  for (const double border : {0.07, 3.3, 50.0, 700.0}) {
    const MaxGoodput found = find_max_goodput({}, [&](double rate) {
      return GoodShare{static_cast<std::int64_t>(std::lround(1000 * true_share(rate, border))), 1000};
    });
    ASSERT_TRUE(found.rate) << border;
    EXPECT_TRUE(found.settled);
    EXPECT_LE(found.rate->value, border * 1.01);
    EXPECT_GE(found.rate->value, border / 1.06);
    EXPECT_LE(found.rate->low, found.rate->value);
    EXPECT_GE(found.rate->high, found.rate->value);
    EXPECT_LE(found.tried.size(), 24u);
  }
}

TEST(MaxGoodput, FindsItInRunsThatVary) {
  int near = 0, held = 0, settled = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const MaxGoodput found = find_max_goodput({}, [&](double rate) { return simulate(rate, 10.0, random); });
    ASSERT_TRUE(found.rate);
    near += std::fabs(found.rate->value / 10.0 - 1) < 0.08 ? 1 : 0;
    held += found.rate->low <= 10.0 && found.rate->high >= 10.0 ? 1 : 0;
    settled += found.settled ? 1 : 0;
  }
  EXPECT_GT(near / 200.0, 0.97);
  EXPECT_GT(held / 200.0, 0.90);
  EXPECT_GT(settled / 200.0, 0.95);
}

TEST(MaxGoodput, FindsItThoughEveryTenthRunIsDisturbed) {
  int far = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const MaxGoodput found = find_max_goodput({}, [&](double rate) {
      const bool disturbed = std::bernoulli_distribution(0.1)(random);
      const GoodShare run = simulate(rate, 10.0, random);
      return disturbed ? GoodShare{run.good * 6 / 10, run.all} : run;
    });
    far += !found.rate || std::fabs(std::log(found.rate->value / 10.0)) > 0.1 ? 1 : 0;
  }
  EXPECT_LT(far / 300.0, 0.08);
}

TEST(MaxGoodput, OneRunOfBadLuckFarBelowTheBorderDoesNotDecide) {
  for (int unlucky = 0; unlucky < 6; ++unlucky) {
    int runs = 0;
    const MaxGoodput found = find_max_goodput({}, [&](double rate) {
      if (runs++ == unlucky) return GoodShare{200, 400};
      return GoodShare{static_cast<std::int64_t>(400 * true_share(rate, 40.0)), 400};
    });
    ASSERT_TRUE(found.rate) << unlucky;
    EXPECT_NEAR(found.rate->value, 40.0, 4.0) << unlucky;
  }
}

TEST(MaxGoodput, OneRunOfGoodLuckFarAboveTheBorderDoesNotDecide) {
  for (int lucky = 3; lucky < 9; ++lucky) {
    int runs = 0;
    const MaxGoodput found = find_max_goodput({}, [&](double rate) {
      if (runs++ == lucky) return GoodShare{400, 400};
      return GoodShare{static_cast<std::int64_t>(400 * true_share(rate, 6.0)), 400};
    });
    ASSERT_TRUE(found.rate) << lucky;
    EXPECT_NEAR(found.rate->value, 6.0, 0.6) << lucky;
  }
}

TEST(MaxGoodput, WhereNothingDoesThereIsNone) {
  const GoodputSearch search{.first = 1.0, .lowest = 0.25};
  const MaxGoodput none = find_max_goodput(search, [](double) { return GoodShare{10, 100}; });
  EXPECT_FALSE(none.rate);
  EXPECT_FALSE(none.settled);
  EXPECT_EQ(none.tried.size(), 6u);  // 1, 0.5 and 0.25, each twice
  EXPECT_FALSE(find_max_goodput(search, [](double) { return GoodShare{}; }).rate);
}

TEST(MaxGoodput, WhereEverythingDoesItIsTheHighestTried) {
  const GoodputSearch search{.first = 1.0, .highest = 8.0};
  const MaxGoodput all = find_max_goodput(search, [](double) { return GoodShare{100, 100}; });
  ASSERT_TRUE(all.rate);
  EXPECT_EQ(all.rate->value, 8.0);
  EXPECT_FALSE(all.settled);
}

TEST(MaxGoodput, StopsWhenItsRunsAreUsedUp) {
  int runs = 0;
  const GoodputSearch search{.width = 1e-9, .max_runs = 7};
  const MaxGoodput found = find_max_goodput(search, [&](double rate) {
    ++runs;
    return GoodShare{rate < 3.0 ? 100 : 0, 100};
  });
  EXPECT_EQ(runs, 7);
  EXPECT_FALSE(found.settled);
  EXPECT_NEAR(found.rate->value, 3.0, 1.0);
}

}  // namespace
}  // namespace millrace::loadtest
