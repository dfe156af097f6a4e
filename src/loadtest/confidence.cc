#include "loadtest/confidence.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "base/check.h"
#include "metrics/statistics.h"

namespace millrace::loadtest {
namespace {

constexpr double kUpper = 0.975;  // of 95 % two-sided

double normal_quantile(double share) { return boost::math::quantile(boost::math::normal(), share); }
double normal_share_below(double z) { return boost::math::cdf(boost::math::normal(), z); }

// In [0, n), the same with every standard library.
std::size_t draw_below(std::mt19937_64& random, std::uint64_t n) {
  return static_cast<std::size_t>(((random() >> 32) * n) >> 32);
}

}  // namespace

Estimate wilson(std::int64_t good, std::int64_t all) {
  if (all <= 0) return {0.0, 0.0, 1.0};
  const auto n = static_cast<double>(all);
  const double share = static_cast<double>(good) / n;
  const double z = normal_quantile(kUpper), z2 = z * z;
  const double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = z / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  return {share, good == 0 ? 0.0 : std::max(0.0, middle - half), good == all ? 1.0 : std::min(1.0, middle + half)};
}

double student_t(std::int64_t freedom) {
  if (freedom <= 0) return std::numeric_limits<double>::infinity();
  return boost::math::quantile(boost::math::students_t(static_cast<double>(freedom)), kUpper);
}

void draw_with_replacement(std::int64_t n, int resamples, std::uint64_t seed,
                           const std::function<void(std::span<const int> times)>& visit) {
  CHECK(n >= 0 && n < (std::int64_t{1} << 32));
  std::mt19937_64 random(seed);
  std::vector<int> times(static_cast<std::size_t>(n));
  for (int i = 0; i < resamples; ++i) {
    std::fill(times.begin(), times.end(), 0);
    for (std::int64_t unit = 0; unit < n; ++unit) ++times[draw_below(random, static_cast<std::uint64_t>(n))];
    visit(times);
  }
}

Estimate percentile_interval(double value, std::vector<double>& drawn, std::int64_t n) {
  if (drawn.empty() || n < 2) return {value, value, value};
  const auto units = static_cast<double>(n);
  const double level = normal_share_below(-std::sqrt(units / (units - 1)) * student_t(n - 1));
  std::sort(drawn.begin(), drawn.end());
  // A draw's median may lie on one side of the figure alone; an interval holds its figure.
  return {value, std::min(value, metrics::quantile_of_sorted(drawn, level)),
          std::max(value, metrics::quantile_of_sorted(drawn, 1 - level))};
}

Estimate bootstrap(std::int64_t n, const std::function<double(std::span<const int> times)>& figure, int resamples,
                   std::uint64_t seed) {
  if (n <= 0) return {};
  std::vector<double> drawn;
  if (n > 1) {
    draw_with_replacement(n, resamples, seed, [&](std::span<const int> times) { drawn.push_back(figure(times)); });
  }
  const std::vector<int> once(static_cast<std::size_t>(n), 1);
  return percentile_interval(figure(once), drawn, n);
}

Estimate paired_ratio(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] > 0.0 && b[i] > 0.0) ratios.push_back(b[i] / a[i]);
  }
  std::sort(ratios.begin(), ratios.end());
  const auto n = static_cast<std::int64_t>(ratios.size());
  const auto median = [&](std::span<const int> times) {
    std::size_t at = 0;
    std::int64_t seen = 0;  // ratios of the draw before `at`
    for (; seen + times[at] <= (n - 1) / 2; ++at) seen += times[at];
    const double low = ratios[at];
    for (; seen + times[at] <= n / 2; ++at) seen += times[at];
    return std::midpoint(low, ratios[at]);
  };
  return bootstrap(n, median, 1000, seed);
}

}  // namespace millrace::loadtest
