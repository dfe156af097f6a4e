#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/load/load_flags.h"
#include "bench/load/output_flags.h"
#include "bench/load/sweep_axis.h"
#include "bench/load/system_under_test.h"
#include "loadtest/max_goodput.h"

namespace millrace::bench {

struct SweepFlags {
  SystemUnderTestFlags system;
  LoadFlags load;
  OutputFlags output;
  std::string axis = "request-rate";
  std::vector<double> values;       // none = the axis's defaults
  std::vector<std::string> series;  // none = one series without further arguments
  int runs = 1;
  double point_seconds = 30.0;
  bool resume = false;
  double max_goodput = 0.0;  // search the rate with this share of good requests; 0 = no search
  double max_rate = 1024.0;
};

// Runs the load at each point of a sweep and makes the report of `bench sweep` (docs/bench_reports.md).
class SweepRun {
 public:
  // Throws LoadError for an invalid flag.
  explicit SweepRun(const SweepFlags& flags);

  // Measures the points that are missing; in each of the `runs`, one series after the other. Ends early at Ctrl-C.
  void measure();
  Json report() const;
  bool stopped() const noexcept { return stopped_; }

 private:
  struct Point {
    double x = 0.0;
    std::vector<Json> runs;  // reports of `bench serve`, without lists of requests and moments
  };
  struct Line {
    SweepSeries series;
    std::vector<Point> points;
    Json max_goodput;  // a list with an entry for each SLO
  };
  void measure_line(Line& line, int run);
  // Each run of a server asks other things, so that none finds its prompts in a cache; the n-th run of each line the
  // same.
  LoadFlags load_at(const SweepAxis& axis, double x, std::uint64_t run) const;
  void search_max_goodput(Line& line, SystemUnderTest& system);
  Json json_of(const Point& point) const;
  Json json_of_max_goodput() const;
  Json json_of_knees() const;
  std::string point_file(const Line& line, double x, int run) const;
  std::optional<Json> measured_before(const std::string& file) const;
  void keep(const std::string& file, const Json& report) const;

  SweepFlags flags_;
  const SweepAxis* axis_;
  std::vector<Line> lines_;
  std::string key_;  // identifies the command that points belong to
  bool stopped_ = false;
};

}  // namespace millrace::bench
