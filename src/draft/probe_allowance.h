#pragma once

#include <algorithm>

namespace millrace::draft {

// When a draft model whose tokens were rejected may be asked again, to see whether it got better: so rarely that asking
// takes at most kShare of the steps' time, however much a draft costs and however many sequences there are. One thread.
class ProbeAllowance {
 public:
  static constexpr double kShare = 0.01;

  // A step of that time is taken. What is not used is kept for one time of asking.
  void add_step(double step_ms, double probe_ms) noexcept {
    saved_ms_ = std::min(saved_ms_ + kShare * step_ms, probe_ms);
  }
  bool covers(double probe_ms) const noexcept { return saved_ms_ >= probe_ms; }
  void spend(double probe_ms) noexcept { saved_ms_ = std::max(0.0, saved_ms_ - probe_ms); }

 private:
  double saved_ms_ = 0.0;
};

}  // namespace millrace::draft
