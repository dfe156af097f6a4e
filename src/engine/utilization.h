#pragma once

#include <optional>

#include "engine/time_spent.h"

namespace millrace::engine {

// What the machine can do, as measured; 0: not measured.
struct MachinePeaks {
  double read_gb_s = 0.0, gop_s = 0.0;
};

// `work` (bytes, operations) of so many seconds, in 1e9 a second; nothing where there was no time or no work.
std::optional<double> giga_per_second(double work, double seconds);
// The rate as a share of what the machine can do; nothing where that is not known.
std::optional<double> share_of_peak(std::optional<double> giga_per_second, double peak);

// What the steps of an answer made of the machine: of those that it decoded in, memory; of those that computed its
// prompt, arithmetic. In a batch these are the whole steps', other answers' work too.
struct Utilization {
  std::optional<double> read_gb_s, mbu, prefill_mfu;
};
Utilization utilization(const TimeSpent& spent, const MachinePeaks& peaks);

}  // namespace millrace::engine
