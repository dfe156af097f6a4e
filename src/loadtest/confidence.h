#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace millrace::loadtest {

// A value and its 95 % interval.
struct Estimate {
  double value = 0.0, low = 0.0, high = 0.0;
};

// The share of `good` in `all` (Wilson 1927). The interval stays within [0, 1], also for few and for extreme shares.
// all = 0: the interval is [0, 1].
Estimate wilson(std::int64_t good, std::int64_t all);

// The two-sided 95 % quantile of Student's t with `freedom` degrees of freedom: 12.7 for one, 1.96 for many; infinity
// for none.
double student_t(std::int64_t freedom);

// Calls `visit` with `resamples` samples of `n` units with replacement: how many times each unit is in the sample.
// Deterministic for a seed. Costs n random numbers per sample.
void draw_with_replacement(std::int64_t n, int resamples, std::uint64_t seed,
                           const std::function<void(std::span<const int> times)>& visit);

// The 95 % interval of a value from its values over resampled units (draw_with_replacement): the percentile bootstrap
// (Efron 1979), whose levels are moved outwards as in Hesterberg 2015 (arXiv:1411.5279), since it is too narrow for few
// units. Reorders `drawn`.
Estimate percentile_interval(double value, std::vector<double>& drawn, std::int64_t n);

// Resamples and computes the interval of one value. n = 0: all zero; n = 1: an interval without width.
Estimate bootstrap(std::int64_t n, const std::function<double(std::span<const int> times)>& figure,
                   int resamples = 1000, std::uint64_t seed = 0);

// The ratio B / A from paired rounds: the median of the ratios, bootstrapped over rounds. Rounds in which a side is not
// above 0 are left out; if none is left, all zero.
Estimate paired_ratio(std::span<const double> a, std::span<const double> b, std::uint64_t seed = 0);

}  // namespace millrace::loadtest
