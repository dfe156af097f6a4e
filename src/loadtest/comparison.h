#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loadtest/confidence.h"

namespace millrace::loadtest {

// The same load on two servers, one directly after the other, so that slow changes of the machine affect both.
struct ComparedRound {
  std::string order;                                 // "AB" or "BA"
  std::vector<std::pair<std::string, double>> a, b;  // metrics by name
  std::string noise;                                 // "quiet" or "noisy"
};

// The result for one metric over all rounds.
struct MetricVerdict {
  std::string metric, unit;
  bool lower_is_better = true;
  double a = 0.0, b = 0.0;   // medians over the rounds
  Estimate ratio;            // b / a
  double noise_ratio = 1.0;  // the usual factor between two measurements of one side in successive rounds; >= 1
  enum class Kind { kBetter, kWorse, kEqual, kUndecided } kind = Kind::kUndecided;  // about B
  std::string why;                                                                  // the reason, as a sentence
};
std::string_view to_string(MetricVerdict::Kind kind) noexcept;  // "B better", "B worse", "equal", "undecided"

struct Comparison {
  std::vector<MetricVerdict> verdicts;
  double threshold_percent = 0.0;
  enum class Kind { kRegression, kNoRegression, kUndecided } kind = Kind::kUndecided;
  bool regression() const noexcept { return kind == Kind::kRegression; }
};
std::string_view to_string(Comparison::Kind kind) noexcept;  // "regression", "no regression", "undecided"

// Whether a lower value of the metric is better: true for latencies and bytes, false for throughput, goodput and
// shares.
bool lower_is_better(std::string_view metric) noexcept;
std::string_view unit_of(std::string_view metric) noexcept;  // "ms", "req/s", "tok/s", "%", "B" or ""

// One verdict for each metric of any round, in order of appearance. B is better or worse than A only if at least five
// rounds agree (the 95 % interval of the ratio excludes 1), the change exceeds `threshold_percent`, and it exceeds the
// variation of each side by itself. "equal": the interval lies within the threshold. Everything else is undecided, also
// if a side has no value above 0 in some round, which makes the ratio NaN. One metric that is worse makes a regression;
// there is none if no metric is undecided.
Comparison compare(std::span<const ComparedRound> rounds, double threshold_percent);

}  // namespace millrace::loadtest
