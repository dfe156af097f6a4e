#pragma once

#include <algorithm>

namespace millrace::draft {

// Decides when a draft model whose tokens were rejected may draft again, as a probe of whether it has become better.
// Probes take at most kShare of the steps' time, whatever a draft costs and however many sequences there are. One
// thread.
class ProbeAllowance {
 public:
  static constexpr double kShare = 0.01;

  // Counts a step of `step_ms`. The allowance grows up to the time of one probe.
  void add_step(double step_ms, double probe_ms) noexcept {
    saved_ms_ = std::min(saved_ms_ + kShare * step_ms, probe_ms);
  }
  bool covers(double probe_ms) const noexcept { return saved_ms_ >= probe_ms; }
  void spend(double probe_ms) noexcept { saved_ms_ = std::max(0.0, saved_ms_ - probe_ms); }

 private:
  double saved_ms_ = 0.0;
};

}  // namespace millrace::draft
