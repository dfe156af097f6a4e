#pragma once

#include <span>
#include <vector>

namespace millrace::metrics {

// The q-quantile of the values, 0 <= q <= 1, linear between neighbours (type 7 of Hyndman and Fan 1996, numpy's
// default); 0 of none.
double quantile(std::span<const double> values, double q);
// The same of values that are in ascending order.
double quantile_of_sorted(std::span<const double> values, double q);

// What repeated runs of the same work gave.
struct Spread {
  double median = 0.0, min = 0.0, max = 0.0;
};
Spread spread_of(std::span<const double> values);

// What many requests of one run got.
struct Distribution {
  double mean = 0.0, p50 = 0.0, p90 = 0.0, p99 = 0.0, max = 0.0;
};
Distribution distribution_of(std::span<const double> values);

}  // namespace millrace::metrics
