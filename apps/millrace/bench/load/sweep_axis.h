#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/load_flags.h"

namespace millrace::bench {

// What a sweep varies: a file of axes/, found by CMake.
struct SweepAxis {
  std::string_view name, summary;
  std::string_view label, unit;  // under the plot
  bool logarithmic = false;
  std::vector<double> values;  // where the user names none
  // Sets the load to one value. `seconds`: about how long a point shall last where the load has no length of its own.
  void (*apply)(LoadFlags& load, double value, double seconds);
  struct Plot {
    std::string_view title, unit;
    std::vector<std::string_view> metrics;  // names of docs/bench_reports.md
    bool logarithmic = false;
  };
  std::vector<Plot> plots;
  bool rises = false;  // load grows along it: there may be a knee
};
std::span<const SweepAxis> all_sweep_axes();  // generated
const SweepAxis* find_sweep_axis(std::string_view name) noexcept;

// Lines of a sweep: the same load on servers with other arguments.
struct SweepSeries {
  std::string label, serve_args;
};
// "LABEL=ARGUMENTS", or a set by name: "batching", "policies", "prefix-caching", "speculation", "kv-dtypes". Throws
// LoadError listing them.
std::vector<SweepSeries> parse_series(const std::vector<std::string>& texts);

}  // namespace millrace::bench
