#pragma once

#include "backend/machine_probe.h"
#include "bench/kernel_op.h"
#include "metrics/statistics.h"

namespace millrace::bench {

struct TimingOptions {
  double min_seconds = 0.3;  // least time of the calls of a case, all repeats together
  int repeats = 3;           // repeats of a case, at least 1; the machine's limits are measured around each
};

// Speed of a case. A repeat consists of passes of about 1 ms. Its value is the median of its passes, compared with the
// limits measured around that repeat. Spreads are over the repeats.
struct KernelMetrics {
  metrics::Spread microseconds, gb_s, gop_s;  // of one call
  metrics::Spread read_share, peak_share;     // of read bandwidth and of peak arithmetic, 1 = all; 0 = not compared
  double best_share = 0.0;                    // the fastest pass relative to the limit that it comes closest to
};

// Runs the case on the calling thread; nothing else should use the processors meanwhile.
KernelMetrics time_case(const KernelCase& kernel_case, backend::MachineProbe& probe, const TimingOptions& options);

}  // namespace millrace::bench
