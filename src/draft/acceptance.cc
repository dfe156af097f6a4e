#include "draft/acceptance.h"

#include <algorithm>

namespace millrace::draft {

std::size_t Acceptance::bin_of(float confidence) noexcept {
  const auto bin = static_cast<std::size_t>(std::clamp(confidence, 0.0f, 1.0f) * static_cast<float>(kBins));
  return std::min(bin, kBins - 1);
}

void Acceptance::observe(float confidence, bool right) noexcept {
  Bin& bin = bins_[bin_of(confidence)];
  const double kept = std::min(1.0, memory_ / (bin.tried + 1.0));
  bin.tried = bin.tried * kept + 1.0;
  bin.right = bin.right * kept + (right ? 1.0 : 0.0);
}

double Acceptance::rate(float confidence, double expected, double weight) const noexcept {
  const Bin& bin = bins_[bin_of(confidence)];
  return (bin.right + expected * weight) / (bin.tried + weight);
}

}  // namespace millrace::draft
