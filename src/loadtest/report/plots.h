#pragma once

#include <string>
#include <vector>

#include "loadtest/report/json.h"

namespace millrace::loadtest::report {

struct Plot {
  std::string name;  // of a file: letters, digits and "-"
  std::string svg;
};

// The plots of a report: of `serve` how its latencies are distributed and its throughput over time; of `sweep` each of
// its `plots`, knees marked; of `compare` the ratios with their intervals; of `peers` the ratios of each workload. What
// a report lacks has no plot.
std::vector<Plot> plots_of(const Json& report);

}  // namespace millrace::loadtest::report
