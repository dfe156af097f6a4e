#pragma once

#include <atomic>
#include <optional>

#include "engine/time_spent.h"

namespace millrace::engine {

// Measured limits of the machine, in 1e9 bytes and operations per second; 0 = not measured.
struct MachinePeaks {
  double read_gb_s = 0.0, gop_s = 0.0;
};

// Peaks that may be measured again while they are in use. A measurement under load gives less than the machine can, and
// none gives more: the greatest of all is kept. Thread-safe.
class LivePeaks {
 public:
  explicit LivePeaks(const MachinePeaks& measured) : read_gb_s_(measured.read_gb_s), gop_s_(measured.gop_s) {}
  MachinePeaks now() const noexcept { return {.read_gb_s = read_gb_s_, .gop_s = gop_s_}; }
  void measured(const MachinePeaks& again) noexcept;  // one thread at a time

 private:
  std::atomic<double> read_gb_s_, gop_s_;
};

// A rate of `work` (bytes or operations) in 1e9 per second; nothing if `work` or `seconds` is 0.
std::optional<double> giga_per_second(double work, double seconds);
// The rate divided by `peak`; nothing if either is unknown (nothing, or 0), and where it is more than 1: what was
// exceeded is no peak, but was measured while other work ran.
std::optional<double> share_of_peak(std::optional<double> giga_per_second, double peak);

// Use of the machine by the steps of an answer: read bandwidth and its share of the peak (MBU) in steps in which it
// decoded, share of peak arithmetic (MFU) in steps that computed its prompt. Work of other answers in these steps
// counts too.
struct Utilization {
  std::optional<double> read_gb_s, mbu, prefill_mfu;
};
Utilization utilization(const TimeSpent& spent, const MachinePeaks& peaks);

}  // namespace millrace::engine
