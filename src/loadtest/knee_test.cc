#include "loadtest/knee.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace millrace::loadtest {
namespace {

// One server with exponential times: 1 / (1 - load), then a queue that grows as long as the run lasts.
double queueing(double rate, double capacity) {
  const double load = rate / capacity;
  return load < 0.98 ? 50.0 / (1.0 - load) : 50.0 / 0.02 + 20000.0 * (load - 0.98);
}

std::vector<CurvePoint> curve(const std::function<double(double)>& latency, double noise, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<CurvePoint> points;
  for (double rate = 1.0; rate <= 12.0; rate += 1.0)
    points.push_back({rate, latency(rate) * std::exp(noise * normal(random))});
  return points;
}

TEST(Knee, LiesBelowTheCapacityOfAQueue) {
  for (const double capacity : {6.0, 8.0, 10.0}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const auto knee = find_knee(curve([&](double rate) { return queueing(rate, capacity); }, 0.05, seed));
      ASSERT_TRUE(knee) << capacity;
      EXPECT_GT(knee->x, 0.4 * capacity);
      EXPECT_LT(knee->x, 1.05 * capacity);
    }
  }
}

TEST(Knee, IsWhereAFlatCurveBends) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto knee =
        find_knee(curve([](double rate) { return 40.0 * std::exp(0.8 * std::max(0.0, rate - 7.3)); }, 0.03, seed));
    ASSERT_TRUE(knee);
    EXPECT_NEAR(knee->x, 7.3, 0.3);
    EXPECT_NEAR(knee->before, 40.0, 6.0);
  }
}

TEST(Knee, AFlatCurveHasNone) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    EXPECT_FALSE(find_knee(curve([](double) { return 40.0; }, 0.08, seed))) << seed;
    EXPECT_FALSE(find_knee(curve([](double rate) { return 40.0 + rate; }, 0.03, seed))) << seed;
  }
}

TEST(Knee, ASteadyRiseHasHardlyEverOne) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    found += find_knee(curve([](double rate) { return 40.0 * std::exp(0.3 * rate); }, 0.05, seed)) ? 1 : 0;
  }
  EXPECT_LE(found, 6);
}

TEST(Knee, FewPointsHaveNoneAndTheirOrderDoesNotMatter) {
  EXPECT_FALSE(find_knee(std::vector<CurvePoint>{{1, 10}, {2, 10}, {3, 100}}));
  std::vector<CurvePoint> points = {{4, 20}, {1, 10}, {5, 80}, {3, 10}, {2, 10}, {6, 300}, {7, 0.0}};
  const auto knee = find_knee(points);
  ASSERT_TRUE(knee);
  std::sort(points.begin(), points.end(), [](const CurvePoint& a, const CurvePoint& b) { return a.x < b.x; });
  EXPECT_EQ(find_knee(points)->x, knee->x);
  EXPECT_NEAR(knee->x, 3.4, 0.5);
}

}  // namespace
}  // namespace millrace::loadtest
