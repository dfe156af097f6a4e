#include "sched/admission.h"

#include <algorithm>

namespace millrace::sched {
namespace {

bool longer(const PeakDemand& a, const PeakDemand& b) noexcept { return a.remaining > b.remaining; }

}  // namespace

std::int64_t predicted_peak(std::span<PeakDemand> demands) noexcept {
  std::sort(demands.begin(), demands.end(), longer);
  std::int64_t peak = 0, held = 0, count = 0;
  for (const PeakDemand& demand : demands) {
    held += demand.held;
    peak = std::max(peak, demand.remaining * ++count + held);
  }
  return peak;
}

void PeakEstimate::assign(std::span<const PeakDemand> demands) {
  sorted_.assign(demands.begin(), demands.end());
  std::sort(sorted_.begin(), sorted_.end(), longer);
}

std::int64_t PeakEstimate::peak_with(const PeakDemand& demand) const noexcept {
  std::int64_t peak = 0, held = 0, count = 0;
  bool counted = false;
  const auto count_in = [&](const PeakDemand& one) {
    held += one.held;
    peak = std::max(peak, one.remaining * ++count + held);
  };
  for (const PeakDemand& one : sorted_) {
    if (!counted && longer(demand, one)) {
      count_in(demand);
      counted = true;
    }
    count_in(one);
  }
  if (!counted) count_in(demand);
  return peak;
}

void PeakEstimate::add(const PeakDemand& demand) {
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), demand, longer), demand);
}

}  // namespace millrace::sched
