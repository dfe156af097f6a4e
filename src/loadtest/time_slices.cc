#include "loadtest/time_slices.h"

#include <algorithm>
#include <numeric>

namespace millrace::loadtest {
namespace {

constexpr double kFewest = 10, kMax = 60;

}  // namespace

TimeSlices::TimeSlices(double start, double seconds, double typical_s)
    : start_(start),
      seconds_(seconds),
      amounts_(
          static_cast<std::size_t>(typical_s > 0.0 ? std::clamp(seconds / (2 * typical_s), kFewest, kMax) : kMax)) {}

void TimeSlices::add(double time, double amount) {
  const auto slices = static_cast<double>(amounts_.size());
  amounts_[static_cast<std::size_t>(std::clamp((time - start_) / seconds_ * slices, 0.0, slices - 1))] += amount;
}

Estimate TimeSlices::rate() const {
  return bootstrap(static_cast<std::int64_t>(amounts_.size()), [&](std::span<const int> times) {
    return std::inner_product(amounts_.begin(), amounts_.end(), times.begin(), 0.0) / seconds_;
  });
}

}  // namespace millrace::loadtest
