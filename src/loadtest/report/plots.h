#pragma once

#include <string>
#include <vector>

#include "loadtest/report/json.h"

namespace millrace::loadtest::report {

struct Plot {
  std::string name;  // part of a file name: letters, digits and "-"
  std::string svg;
};

// The plots of a report: for `serve` the distributions of latencies and the throughput over time; for `sweep` each of
// its `plots` with knees; for `compare` the ratios with intervals; for `peers` the ratios of each workload. Absent data
// have no plot.
std::vector<Plot> plots_of(const Json& report);

}  // namespace millrace::loadtest::report
