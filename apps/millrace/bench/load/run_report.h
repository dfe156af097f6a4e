#pragma once

#include "bench/load/load_flags.h"
#include "bench/load/system_under_test.h"
#include "bench/report.h"

namespace millrace::bench {

// One run as docs/bench_reports.md has it under "serve".
Json run_report(const LoadFlags& load, const MeasuredRun& measured);

}  // namespace millrace::bench
