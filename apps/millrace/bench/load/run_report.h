#pragma once

#include "bench/load/load_flags.h"
#include "bench/load/system_under_test.h"
#include "bench/report.h"

namespace millrace::bench {

// The members of a report for one run (docs/bench_reports.md, "serve"). Throws LoadError naming --goodput.
Json run_report(const LoadFlags& load, const MeasuredRun& measured);

}  // namespace millrace::bench
