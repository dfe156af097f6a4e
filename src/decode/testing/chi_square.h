#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace millrace::decode {

// For tests: the chi-square test of counts against expected counts.
struct ChiSquare {
  double statistic = 0.0;
  double limit = 0.0;  // exceeded with a probability of 1e-4 (Wilson and Hilferty, doi:10.1073/pnas.17.12.684)
  bool passes() const noexcept { return statistic <= limit; }
};

// `expected` has the expected count of each token, and sums to the number of samples. Tokens with an expected count
// below 5 are pooled. A sampled token with an expected count of 0 fails the test.
inline ChiSquare chi_square(std::span<const double> expected, std::span<const int> counts) {
  ChiSquare out;
  double rare_expected = 0.0, degrees = -1.0;
  int rare_counts = 0;
  const auto add = [&](double mean, int count) {
    out.statistic += (count - mean) * (count - mean) / mean;
    degrees += 1.0;
  };
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] >= 5.0) {
      add(expected[i], counts[i]);
    } else {
      rare_expected += expected[i];
      rare_counts += counts[i];
      if (expected[i] == 0.0 && counts[i] > 0) out.statistic += 1e9;
    }
  }
  if (rare_expected >= 5.0) add(rare_expected, rare_counts);
  const double ninth = 2.0 / (9.0 * degrees), root = 1.0 - ninth + 3.719016 * std::sqrt(ninth);
  out.limit = degrees > 0.0 ? degrees * root * root * root : 1e-9;
  return out;
}

}  // namespace millrace::decode
