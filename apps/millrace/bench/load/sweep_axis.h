#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/load_flags.h"

namespace millrace::bench {

// A parameter that a sweep varies. Each is a file in axes/, which CMake finds.
struct SweepAxis {
  std::string_view name, summary;
  std::string_view label, unit;  // of the plot's x axis
  bool logarithmic = false;
  std::vector<double> values;  // used if the user names none
  // Sets the load to one value. `seconds`: the approximate length of a point, if the load has no length of its own.
  void (*apply)(LoadFlags& load, double value, double seconds);
  struct Plot {
    std::string_view title, unit;
    std::vector<std::string_view> metrics;  // names of docs/bench_reports.md
    bool logarithmic = false;
  };
  std::vector<Plot> plots;
  bool rises = false;  // the load grows with the value, so there may be a knee
};
std::span<const SweepAxis> all_sweep_axes();  // generated
const SweepAxis* find_sweep_axis(std::string_view name) noexcept;

// One line of a sweep's plots: the load on a server with further arguments.
struct SweepSeries {
  std::string label, serve_args;
};
// Parses "LABEL=ARGUMENTS", or the name of a set of series: "batching", "policies", "prefix-caching", "speculation",
// "kv-dtypes". Throws LoadError listing them.
std::vector<SweepSeries> parse_series(const std::vector<std::string>& texts);

}  // namespace millrace::bench
