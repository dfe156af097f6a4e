#pragma once

#include "backend/machine_probe.h"
#include "bench/kernel_op.h"
#include "metrics/statistics.h"

namespace millrace::bench {

struct TimingOptions {
  double min_seconds = 0.3;  // of calls for each case, all repeats together
  int repeats = 3;           // times that a case alternates with a measurement of the limits
};

// What a case took. Spreads are over the repeats, each the median of its passes and compared with the limits measured
// around it.
struct KernelMetrics {
  metrics::Spread microseconds, gb_s, gop_s;
  metrics::Spread read_share, peak_share;  // of read bandwidth and peak arithmetic; 0 = not compared
  double best_share = 0.0;                 // the fastest pass of all against the nearer of the two limits
};

KernelMetrics time_case(const KernelCase& kernel_case, backend::MachineProbe& probe, const TimingOptions& options);

}  // namespace millrace::bench
