#include "loadtest/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "metrics/statistics.h"

namespace millrace::loadtest {
namespace {

constexpr std::size_t kFewestRounds = 5;

const double* find(const std::vector<std::pair<std::string, double>>& metrics, std::string_view name) {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const auto& m) { return m.first == name; });
  return found == metrics.end() ? nullptr : &found->second;
}

// Consecutive rounds rather than all of them: a machine that gets slower over an hour does so for both sides.
double noise_ratio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> changes;
  for (const std::vector<double>* side : {&a, &b}) {
    for (std::size_t i = 1; i < side->size(); ++i) changes.push_back(std::fabs(std::log((*side)[i] / (*side)[i - 1])));
  }
  return std::exp(metrics::quantile(changes, 0.5));
}

std::string percent(double ratio) { return fmt::format("{:+.1f} %", (ratio - 1) * 100); }

// `verdict` has its ratio and noise; this says what they mean.
void judge(MetricVerdict& verdict, std::size_t rounds, double threshold) {
  using Kind = MetricVerdict::Kind;
  const Estimate& ratio = verdict.ratio;
  const std::string change = fmt::format("{} [{}, {}]", percent(ratio.value), percent(ratio.low), percent(ratio.high));
  const double most = 1 + threshold;
  const auto within = [&](double r) { return r <= most && r >= 1 / most; };
  const double effect = std::fabs(std::log(ratio.value));
  if (rounds < kFewestRounds) {
    verdict.why = fmt::format("{} rounds cannot rank; {} or more can.", rounds, kFewestRounds);
  } else if (within(ratio.low) && within(ratio.high)) {
    verdict.kind = Kind::kEqual;
    verdict.why = fmt::format("The change, {}, is within {:g} %.", change, threshold * 100);
  } else if (ratio.low <= 1 && ratio.high >= 1) {
    verdict.why = fmt::format("The interval of the change, {}, holds both signs.", change);
  } else if (effect <= std::log(verdict.noise_ratio)) {
    verdict.why = fmt::format("The change, {}, is no larger than what a side differs from itself, {}.", change,
                              percent(verdict.noise_ratio));
  } else if (within(ratio.value)) {
    verdict.why =
        fmt::format("There is a change, {}, but whether it is above {:g} % is open.", change, threshold * 100);
  } else {
    verdict.kind = (ratio.value < 1) == verdict.lower_is_better ? Kind::kBetter : Kind::kWorse;
    verdict.why = fmt::format("The change, {}, is above {:g} % and above the noise, {}.", change, threshold * 100,
                              percent(verdict.noise_ratio));
  }
}

std::vector<std::string> metrics_of(std::span<const ComparedRound> rounds) {
  std::vector<std::string> metrics;
  for (const ComparedRound& round : rounds) {
    for (const auto* side : {&round.a, &round.b}) {
      for (const auto& [name, value] : *side) {
        if (std::find(metrics.begin(), metrics.end(), name) == metrics.end()) metrics.push_back(name);
      }
    }
  }
  return metrics;
}

MetricVerdict verdict_of(const std::string& metric, std::span<const ComparedRound> rounds, double threshold) {
  MetricVerdict verdict{.metric = metric,
                        .unit = std::string(unit_of(metric)),
                        .lower_is_better = lower_is_better(metric),
                        .ratio = {NAN, NAN, NAN},
                        .noise_ratio = NAN};
  std::vector<double> a, b;
  std::size_t whole = 0, zero = 0;  // rounds with a figure above 0 on both sides, and with 0 on both
  for (const ComparedRound& round : rounds) {
    const double *of_a = find(round.a, metric), *of_b = find(round.b, metric);
    if (of_a != nullptr) a.push_back(*of_a);
    if (of_b != nullptr) b.push_back(*of_b);
    if (of_a == nullptr || of_b == nullptr) continue;
    if (*of_a > 0.0 && *of_b > 0.0) ++whole;
    if (*of_a == 0.0 && *of_b == 0.0) ++zero;
  }
  verdict.a = metrics::quantile(a, 0.5);
  verdict.b = metrics::quantile(b, 0.5);
  if (zero == rounds.size()) {
    verdict.kind = MetricVerdict::Kind::kEqual;
    verdict.why = "Both are 0 in every round.";
  } else if (whole < rounds.size()) {
    verdict.why =
        fmt::format("{} of {} rounds lack a figure above 0 on one side or both.", rounds.size() - whole, rounds.size());
  } else {
    verdict.ratio = paired_ratio(a, b);
    verdict.noise_ratio = noise_ratio(a, b);
    judge(verdict, rounds.size(), threshold);
  }
  return verdict;
}

}  // namespace

std::string_view to_string(MetricVerdict::Kind kind) noexcept {
  using Kind = MetricVerdict::Kind;
  switch (kind) {
    case Kind::kBetter: return "B better";
    case Kind::kWorse: return "B worse";
    case Kind::kEqual: return "equal";
    case Kind::kUndecided: return "undecided";
  }
  return "";
}

std::string_view to_string(Comparison::Kind kind) noexcept {
  using Kind = Comparison::Kind;
  switch (kind) {
    case Kind::kRegression: return "regression";
    case Kind::kNoRegression: return "no regression";
    case Kind::kUndecided: return "undecided";
  }
  return "";
}

bool lower_is_better(std::string_view metric) noexcept {
  return metric.ends_with("_ms") || metric.ends_with("_bytes") || metric.ends_with("_joules");
}

std::string_view unit_of(std::string_view metric) noexcept {
  if (metric.ends_with("_ms")) return "ms";
  if (metric.ends_with("_bytes")) return "B";
  if (metric.ends_with("_percent")) return "%";
  if (metric == "request_throughput" || metric == "request_goodput") return "req/s";
  if (metric == "output_throughput" || metric == "total_token_throughput") return "tok/s";
  return "";
}

Comparison compare(std::span<const ComparedRound> rounds, double threshold_percent) {
  Comparison comparison{.threshold_percent = threshold_percent};
  for (const std::string& metric : metrics_of(rounds)) {
    comparison.verdicts.push_back(verdict_of(metric, rounds, threshold_percent / 100));
  }
  const auto any = [&](MetricVerdict::Kind kind) {
    return std::any_of(comparison.verdicts.begin(), comparison.verdicts.end(),
                       [&](const MetricVerdict& verdict) { return verdict.kind == kind; });
  };
  if (any(MetricVerdict::Kind::kWorse)) {
    comparison.kind = Comparison::Kind::kRegression;
  } else if (!comparison.verdicts.empty() && !any(MetricVerdict::Kind::kUndecided)) {
    comparison.kind = Comparison::Kind::kNoRegression;
  }
  return comparison;
}

}  // namespace millrace::loadtest
