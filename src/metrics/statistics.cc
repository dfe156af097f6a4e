#include "metrics/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace millrace::metrics {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

}  // namespace

double quantile_of_sorted(std::span<const double> values, double q) {
  if (values.empty()) return 0.0;
  const double at = std::clamp(q, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return std::lerp(values[low], values[high], at - static_cast<double>(low));
}

double quantile(std::span<const double> values, double q) { return quantile_of_sorted(sorted(values), q); }

Spread spread_of(std::span<const double> values) {
  const std::vector<double> ordered = sorted(values);
  if (ordered.empty()) return {};
  return {.median = quantile_of_sorted(ordered, 0.5), .min = ordered.front(), .max = ordered.back()};
}

Distribution distribution_of(std::span<const double> values) {
  const std::vector<double> ordered = sorted(values);
  if (ordered.empty()) return {};
  return {.mean = std::accumulate(ordered.begin(), ordered.end(), 0.0) / static_cast<double>(ordered.size()),
          .p50 = quantile_of_sorted(ordered, 0.5),
          .p90 = quantile_of_sorted(ordered, 0.9),
          .p99 = quantile_of_sorted(ordered, 0.99),
          .max = ordered.back()};
}

}  // namespace millrace::metrics
