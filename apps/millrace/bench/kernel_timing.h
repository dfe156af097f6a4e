#pragma once

#include "backend/machine_probe.h"
#include "bench/kernel_op.h"
#include "metrics/statistics.h"

namespace millrace::bench {

struct TimingOptions {
  double min_seconds = 0.3;  // total time of calls for each case, over all repeats
  int repeats = 3;           // how often a case and a measurement of the machine's limits alternate
};

// The times of a case. Spreads are over repeats; each repeat is the median of its passes, and is compared with the
// limits measured around it.
struct KernelMetrics {
  metrics::Spread microseconds, gb_s, gop_s;
  metrics::Spread read_share, peak_share;  // of read bandwidth and peak arithmetic; 0 = not compared
  double best_share = 0.0;                 // of the fastest pass, against the nearer of the two limits
};

KernelMetrics time_case(const KernelCase& kernel_case, backend::MachineProbe& probe, const TimingOptions& options);

}  // namespace millrace::bench
