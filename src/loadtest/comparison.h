#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loadtest/confidence.h"

namespace millrace::loadtest {

// The same load on two servers, one right after the other: what the machine does for minutes, both get.
struct ComparedRound {
  std::string order;                                 // "AB" or "BA"
  std::vector<std::pair<std::string, double>> a, b;  // metrics by name
  std::string noise;                                 // "quiet" or "noisy"
};

// What the rounds say of one metric.
struct MetricVerdict {
  std::string metric, unit;
  bool lower_is_better = true;
  double a = 0.0, b = 0.0;   // medians over the rounds
  Estimate ratio;            // b / a
  double noise_ratio = 1.0;  // by which factor a side differs from itself one round later, usually; >= 1
  enum class Kind { kBetter, kWorse, kEqual, kUndecided } kind = Kind::kUndecided;  // of B
  std::string why;                                                                  // a sentence
};
std::string_view to_string(MetricVerdict::Kind kind) noexcept;  // "B better", "B worse", "equal", "undecided"

struct Comparison {
  std::vector<MetricVerdict> verdicts;
  double threshold_percent = 0.0;
  enum class Kind { kRegression, kNoRegression, kUndecided } kind = Kind::kUndecided;
  bool regression() const noexcept { return kind == Kind::kRegression; }
};
std::string_view to_string(Comparison::Kind kind) noexcept;  // "regression", "no regression", "undecided"

// Is a smaller figure the better one? Latencies and bytes: yes; throughput, goodput and shares: no.
bool lower_is_better(std::string_view metric) noexcept;
std::string_view unit_of(std::string_view metric) noexcept;  // "ms", "req/s", "tok/s", "%", "B" or ""

// One verdict for each metric of any round, in the order they come. B ranks before or behind A only where five rounds
// or more agree on it (the 95 % interval of the ratio leaves out 1), the change is above `threshold_percent`, and it is
// larger than what a side differs from itself. "equal": the interval lies within the threshold. All else is undecided,
// also where a side has no figure above 0 in some round: a ratio says nothing there (it is NaN). One metric that is
// worse is a regression; none is where nothing is undecided.
Comparison compare(std::span<const ComparedRound> rounds, double threshold_percent);

}  // namespace millrace::loadtest
