#pragma once

#include <optional>

#include "engine/time_spent.h"

namespace millrace::engine {

// Measured peaks of the machine: memory reads in 1e9 bytes a second, 1e9 operations a second; 0 = not measured.
struct MachinePeaks {
  double read_gb_s = 0.0, gop_s = 0.0;
};

// `work` (bytes or operations) over `seconds`, in 1e9 a second; nothing if either is 0.
std::optional<double> giga_per_second(double work, double seconds);
// rate / peak; nothing if the rate is nothing or the peak is 0.
std::optional<double> share_of_peak(std::optional<double> giga_per_second, double peak);

// How well the steps of an answer used the machine: memory bandwidth (MBU) in its decode steps, arithmetic (MFU) in its
// prefill steps. The steps count whole, with the work of other answers in the batch.
struct Utilization {
  std::optional<double> read_gb_s, mbu, prefill_mfu;
};
Utilization utilization(const TimeSpent& spent, const MachinePeaks& peaks);

}  // namespace millrace::engine
