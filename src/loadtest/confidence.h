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
Estimate wilson(std::int64_t good, std::int64_t all);

// Percentile bootstrap (Efron 1979): `figure` of `resamples` draws with replacement of `n` units; the draw gives each
// unit's number of times. Deterministic for a seed. n = 0: all zero; n = 1: no width.
Estimate bootstrap(std::int64_t n, const std::function<double(std::span<const int> times)>& figure,
                   int resamples = 1000, std::uint64_t seed = 0);

// The ratio of B over A from paired rounds: the median of the ratios, bootstrapped over rounds.
Estimate paired_ratio(std::span<const double> a, std::span<const double> b, std::uint64_t seed = 0);

}  // namespace millrace::loadtest
