#pragma once

#include <optional>

#include "engine/time_spent.h"

namespace millrace::engine {

// Measured limits of the machine, in 1e9 bytes and operations per second; 0 = not measured.
struct MachinePeaks {
  double read_gb_s = 0.0, gop_s = 0.0;
};

// A rate of `work` (bytes or operations) in 1e9 per second; nothing if `work` or `seconds` is 0.
std::optional<double> giga_per_second(double work, double seconds);
// The rate divided by `peak`; nothing if either is unknown (nothing, or 0).
std::optional<double> share_of_peak(std::optional<double> giga_per_second, double peak);

// Use of the machine by the steps of an answer: read bandwidth and its share of the peak (MBU) in steps in which it
// decoded, share of peak arithmetic (MFU) in steps that computed its prompt. Work of other answers in these steps
// counts too.
struct Utilization {
  std::optional<double> read_gb_s, mbu, prefill_mfu;
};
Utilization utilization(const TimeSpent& spent, const MachinePeaks& peaks);

}  // namespace millrace::engine
