#pragma once

#include "bench/load/load_flags.h"
#include "bench/load/system_under_test.h"
#include "bench/report.h"

namespace millrace::bench {

// The report of one run, in the format of docs/bench_reports.md, "serve".
Json run_report(const LoadFlags& load, const MeasuredRun& measured);

}  // namespace millrace::bench
