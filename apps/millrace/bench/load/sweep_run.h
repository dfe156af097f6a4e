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
  std::vector<double> values;       // empty: those of the axis
  std::vector<std::string> series;  // texts for parse_series(); empty: one series without further arguments
  int runs = 1;                     // runs of each point, each with other prompts
  // Seconds of a point at a request rate; nothing: as --num-prompts says, or 30 where the user gave neither.
  std::optional<double> point_seconds;
  bool resume = false;       // reuse the points that an interrupted sweep of the same command has kept
  double max_goodput = 0.0;  // wanted share of good requests, for the max goodput rate; 0 = no search
  double max_rate = 1024.0;  // upper bound of that search, requests per second
};

// A sweep: runs the load for each value of an axis and each series, and makes the report of `bench sweep`
// (docs/bench_reports.md). One thread.
class SweepRun {
 public:
  // Checks the flags and measures nothing yet. Throws LoadError (kInvalidArgument) naming the flag.
  explicit SweepRun(const SweepFlags& flags);

  // Measures all points: each series once, then each again for further runs. Keeps each point in a file beside
  // --output. Ends early at Ctrl-C. Throws LoadError, for example if a server does not start.
  void measure();
  Json report() const;
  bool stopped() const noexcept { return stopped_; }  // measure() ended early

 private:
  struct Point {
    double x = 0.0;
    std::vector<Json> runs;  // run_report() without members that grow with the number of requests
  };
  struct Line {
    SweepSeries series;
    std::vector<Point> points;
    Json max_goodput;  // an array with an entry for each SLO
  };
  void measure_line(Line& line, int run);
  // The load of a point. `run` numbers the runs on one server and changes the seed, so that no run finds its prompts in
  // the prefix cache; run n of each line has the same seed.
  LoadFlags load_at(const SweepAxis& axis, double x, std::uint64_t run) const;
  // Requests of a point. Where --num-prompts and --point-seconds are both given, the one that ends first counts.
  std::int64_t requests_at(const SweepAxis& axis, double x) const;
  std::string size_rule() const;  // the same for the reader of a report
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
  std::string key_;  // the command line; kept points with another one are not reused
  bool stopped_ = false;
};

}  // namespace millrace::bench
