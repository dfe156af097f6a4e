#include "loadtest/arrivals.h"

#include <algorithm>
#include <cmath>

#include "base/counter_rng.h"

namespace millrace::loadtest {
namespace {

// The random numbers of one gap: a function of seed and gap alone, in operations that give the same bits everywhere.
class GapNoise {
 public:
  GapNoise(std::uint64_t seed, std::uint64_t gap) : stream_(rng::random_stream(seed ^ kArrivals, gap)) {}
  double uniform() { return rng::uniform(rng::random_bits(stream_, next_++)); }
  // Marsaglia's polar method: of the functions it needs only a logarithm and a root.
  double normal() {
    while (true) {
      const double x = 2.0 * uniform() - 1.0, y = 2.0 * uniform() - 1.0, r = x * x + y * y;
      if (r > 0.0 && r < 1.0) return x * std::sqrt(-2.0 * portable_log(r) / r);
    }
  }

 private:
  static constexpr std::uint64_t kArrivals = 0x6172726976616c73ull;  // other numbers than a workload's of that seed
  std::uint64_t stream_, next_ = 0;
};

// Of mean `shape` and variance `shape`: Marsaglia and Tsang 2000 (doi:10.1145/358407.358414), below 1 by their power.
double gamma(double shape, GapNoise& noise) {
  if (shape == 1.0) return -portable_log(noise.uniform());
  if (shape < 1.0) {
    const double larger = gamma(shape + 1.0, noise);
    return larger * portable_exp(portable_log(noise.uniform()) / shape);
  }
  const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = noise.normal(), root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    if (portable_log(noise.uniform()) < 0.5 * x * x + d - d * v + d * portable_log(v)) return d * v;
  }
}

double rate_of(const Arrivals& a, std::int64_t request, std::int64_t count) {
  const double progress = static_cast<double>(request) / static_cast<double>(std::max<std::int64_t>(count - 1, 1));
  switch (a.ramp) {
    case Arrivals::Ramp::kLinear: return a.start_rate + (a.end_rate - a.start_rate) * progress;
    case Arrivals::Ramp::kExponential:
      return a.start_rate * portable_exp(progress * portable_log(a.end_rate / a.start_rate));
    case Arrivals::Ramp::kNone: break;
  }
  return a.rate;
}

}  // namespace

std::vector<double> schedule(const Arrivals& arrivals, std::int64_t count) {
  std::vector<double> starts(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  for (std::size_t i = 1; i < starts.size(); ++i) {
    const double rate = rate_of(arrivals, static_cast<std::int64_t>(i), count);
    double gap = 1.0 / rate;
    if (std::isfinite(arrivals.burstiness)) {
      GapNoise noise(arrivals.seed, i);
      gap *= gamma(arrivals.burstiness, noise) / arrivals.burstiness;
    }
    starts[i] = starts[i - 1] + gap;
  }
  if (arrivals.ramp == Arrivals::Ramp::kNone && starts.size() > 1 && starts.back() > 0.0) {
    const double wanted = static_cast<double>(starts.size() - 1) / arrivals.rate;
    const double factor = wanted / starts.back();
    for (double& start : starts) start *= factor;
    starts.back() = wanted;
  }
  return starts;
}

}  // namespace millrace::loadtest
