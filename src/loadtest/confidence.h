#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace millrace::loadtest {

// A figure and its 95 % interval.
struct Estimate {
  double value = 0.0, low = 0.0, high = 0.0;
};

// A share of good ones among all: Wilson 1927, which stays within [0, 1] and is right for few and for extreme shares.
// all = 0: nothing is known, [0, 1].
Estimate wilson(std::int64_t good, std::int64_t all);

// The two-sided 95 % quantile of Student's t with `freedom` degrees of freedom: 1.96 for many, 12.7 for one; infinity
// for none. Within 1 % (Cornish and Fisher's expansion; exact for one and two).
double student_t(std::int64_t freedom);

// Calls `visit` with `resamples` draws with replacement of `n` units: how many times each unit is in the draw.
// Deterministic for a seed. Cost: n random numbers a draw.
void draw_with_replacement(std::int64_t n, int resamples, std::uint64_t seed,
                           const std::function<void(std::span<const int> times)>& visit);

// The 95 % interval of a figure from its values over draws of n units: the percentile bootstrap (Efron 1979), its two
// levels moved outwards as Hesterberg 2015 (arXiv:1411.5279) does, as it is too narrow for few units. Reorders `drawn`.
Estimate percentile_interval(double value, std::vector<double>& drawn, std::int64_t n);

// Resamples and takes the interval, for one figure. n = 0: all zero; n = 1: no width.
Estimate bootstrap(std::int64_t n, const std::function<double(std::span<const int> times)>& figure,
                   int resamples = 1000, std::uint64_t seed = 0);

// The ratio of B over A from paired rounds: the median of the ratios, bootstrapped over rounds. Rounds where either
// side is not above 0 are left out; none is left: all zero.
Estimate paired_ratio(std::span<const double> a, std::span<const double> b, std::uint64_t seed = 0);

}  // namespace millrace::loadtest
