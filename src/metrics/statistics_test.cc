#include "metrics/statistics.h"

#include <gtest/gtest.h>

namespace millrace::metrics {
namespace {

TEST(Statistics, QuantileLiesBetweenNeighboursAsNumpySays) {
  const std::vector<double> values = {4.0, 1.0, 3.0, 2.0};  // numpy.quantile of it
  EXPECT_DOUBLE_EQ(quantile(values, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(quantile(values, 1.0), 4.0);
}

TEST(Statistics, NothingMeasuredIsZeroAndOneValueIsItself) {
  EXPECT_EQ(quantile({}, 0.5), 0.0);
  EXPECT_EQ(spread_of({}).max, 0.0);
  EXPECT_EQ(distribution_of({}).mean, 0.0);
  const std::vector<double> one = {7.0};
  EXPECT_EQ(spread_of(one).min, 7.0);
  EXPECT_EQ(distribution_of(one).p99, 7.0);
}

TEST(Statistics, SpreadIsMedianAndExtremes) {
  const Spread spread = spread_of(std::vector<double>{9.0, 1.0, 2.0});
  EXPECT_EQ(spread.median, 2.0);
  EXPECT_EQ(spread.min, 1.0);
  EXPECT_EQ(spread.max, 9.0);
}

TEST(Statistics, DistributionOrdersItsPercentiles) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  const Distribution d = distribution_of(values);
  EXPECT_DOUBLE_EQ(d.mean, 50.0);
  EXPECT_DOUBLE_EQ(d.p50, 50.0);
  EXPECT_DOUBLE_EQ(d.p90, 90.0);
  EXPECT_DOUBLE_EQ(d.p99, 99.0);
  EXPECT_DOUBLE_EQ(d.max, 100.0);
}

}  // namespace
}  // namespace millrace::metrics
