#pragma once

#include <span>
#include <vector>

namespace millrace::metrics {

// The q-quantile of the values, 0 <= q <= 1, interpolated linearly (type 7 of Hyndman and Fan 1996, numpy's default); 0
// without values.
double quantile(std::span<const double> values, double q);
// The q-quantile of values in ascending order.
double quantile_of_sorted(std::span<const double> values, double q);

// Statistics over repeated runs of the same work.
struct Spread {
  double median = 0.0, min = 0.0, max = 0.0;
};
Spread spread_of(std::span<const double> values);

// Statistics over the requests of one run.
struct Distribution {
  double mean = 0.0, p50 = 0.0, p90 = 0.0, p99 = 0.0, max = 0.0;
};
Distribution distribution_of(std::span<const double> values);

}  // namespace millrace::metrics
