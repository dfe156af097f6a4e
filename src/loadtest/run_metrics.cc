#include "loadtest/run_metrics.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "loadtest/session_sample.h"
#include "loadtest/time_slices.h"

namespace millrace::loadtest {
namespace {

constexpr int kResamples = 1000;
constexpr std::array<double, 2> kQuantiles = {0.5, 0.99};

// The four latencies of the requests that count, in milliseconds.
struct Latencies {
  std::size_t sessions;
  SessionSample ttft{sessions}, tpot{sessions}, itl{sessions}, latency{sessions};

  void add(std::size_t session, const RequestRecord& record) {
    ttft.add(session, record.ttft() * 1000);
    if (record.output_tokens() > 1) tpot.add(session, record.tpot() * 1000);
    latency.add(session, record.latency() * 1000);
    for (std::size_t i = 1; i < record.events.size(); ++i) {
      itl.add(session, (record.events[i] - record.events[i - 1]) * 1000);
    }
  }
  const SessionSample& named(std::string_view metric) const {
    return metric == "ttft" ? ttft : metric == "tpot" ? tpot : metric == "itl" ? itl : latency;
  }
  void sort() {
    for (SessionSample* sample : {&ttft, &tpot, &itl, &latency}) sample->sort();
  }
};

Latencies latencies_of(const LoadRun& run) {
  std::map<std::int64_t, std::size_t> places;
  for (const RequestRecord& record : run.records) {
    if (counts(record)) places.emplace(record.session, places.size());
  }
  Latencies latencies{.sessions = places.size()};
  for (const RequestRecord& record : run.records) {
    if (counts(record) && record.good()) latencies.add(places.at(record.session), record);
  }
  latencies.sort();
  return latencies;
}

LatencyMetrics metrics_of_sample(const SessionSample& sample) {
  if (sample.empty()) return {};
  const std::span<const double> values = sample.values();
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.mean = mean,
          .median = sample.quantile(0.5),
          .deviation = std::sqrt(squares / n),
          .p90 = sample.quantile(0.9),
          .p95 = sample.quantile(0.95),
          .p99 = sample.quantile(0.99)};
}

// The estimates of median and 99th percentile, under the metric's name.
void estimate_latencies(const Latencies& latencies, RunMetrics& metrics) {
  struct Metric {
    const SessionSample* sample;
    std::array<std::vector<double>, kQuantiles.size()> drawn;
  };
  std::array<Metric, 3> sampled = {{{&latencies.ttft, {}}, {&latencies.tpot, {}}, {&latencies.latency, {}}}};
  const auto sessions = static_cast<std::int64_t>(latencies.sessions);
  draw_with_replacement(sessions, kResamples, 0, [&](std::span<const int> times) {
    for (Metric& metric : sampled) {
      std::array<double, kQuantiles.size()> values{};
      if (!metric.sample->drawn_quantiles(times, kQuantiles, values)) continue;
      for (std::size_t q = 0; q < values.size(); ++q) metric.drawn[q].push_back(values[q]);
    }
  });
  const auto name = [&](const SessionSample* sample, std::size_t q) {
    const char* of = sample == &latencies.ttft ? "ttft" : sample == &latencies.tpot ? "tpot" : "e2el";
    return std::string(q == 0 ? "median_" : "p99_") + of + "_ms";
  };
  for (Metric& metric : sampled) {
    if (metric.sample == &latencies.latency && !latencies.itl.empty()) {
      metrics.estimates.emplace_back("median_itl_ms", latencies.itl.woodruff(kQuantiles[0]));
      metrics.estimates.emplace_back("p99_itl_ms", latencies.itl.woodruff(kQuantiles[1]));
    }
    for (std::size_t q = 0; q < kQuantiles.size() && !metric.sample->empty(); ++q) {
      metrics.estimates.emplace_back(name(metric.sample, q), percentile_interval(metric.sample->quantile(kQuantiles[q]),
                                                                                 metric.drawn[q], sessions));
    }
  }
}

// Requests count when they end, prompts when their first token comes, and output spreads evenly over the events.
void estimate_throughput(const LoadRun& run, RunMetrics& metrics) {
  double start = INFINITY;
  for (const RequestRecord& record : run.records) {
    if (!record.warmup) start = std::min(start, record.due);
  }
  if (!std::isfinite(start) || run.seconds <= 0.0) return;
  const TimeSlices none(start, run.seconds, metrics.latency.median / 1000);
  TimeSlices requests = none, output = none, total = none;
  for (const RequestRecord& record : run.records) {
    if (!counts(record) || !record.good()) continue;
    requests.add(record.ended, 1.0);
    total.add(record.events.front(), static_cast<double>(std::max<std::int64_t>(0, record.prompt_tokens)));
    const double share = static_cast<double>(record.output_tokens()) / static_cast<double>(record.events.size());
    for (const double event : record.events) {
      output.add(event, share);
      total.add(event, share);
    }
  }
  metrics.estimates.emplace_back("request_throughput", requests.rate());
  metrics.estimates.emplace_back("output_throughput", output.rate());
  metrics.estimates.emplace_back("total_token_throughput", total.rate());
}

std::int64_t max_at_once(const LoadRun& run) {
  std::vector<std::pair<double, int>> changes;  // at one moment, ends come before beginnings
  for (const RequestRecord& record : run.records) {
    if (record.warmup) continue;
    changes.emplace_back(std::max(record.due, record.sent), 1);  // one that could not be sent has no `sent`
    changes.emplace_back(record.ended, -1);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t now = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, now += change);
  return most;
}

RunMetrics::Goodput goodput_of(const LoadRun& run, const Slo& slo) {
  RunMetrics::Goodput goodput{.slo = slo};
  std::int64_t good = 0, all = 0, tokens = 0;
  for (const RequestRecord& record : run.records) {
    if (!counts(record)) continue;
    ++all;
    if (!met(slo, record)) continue;
    ++good;
    tokens += record.output_tokens();
  }
  goodput.share = wilson(good, all);
  if (run.seconds > 0.0) {
    goodput.requests_s = static_cast<double>(good) / run.seconds;
    goodput.tokens_s = static_cast<double>(tokens) / run.seconds;
  }
  return goodput;
}

}  // namespace

const Estimate* RunMetrics::find(std::string_view name) const noexcept {
  const auto found = std::find_if(estimates.begin(), estimates.end(), [&](const auto& e) { return e.first == name; });
  return found == estimates.end() ? nullptr : &found->second;
}

bool met(const Slo& slo, const RequestRecord& record) noexcept {
  return record.good() && slo.met(record.ttft() * 1000, record.tpot() * 1000, record.latency() * 1000);
}

RunMetrics metrics_of(const LoadRun& run, std::span<const Slo> slos, const MorePercentiles& more) {
  RunMetrics metrics{.seconds = run.seconds};
  std::vector<double> lags;
  for (const RequestRecord& record : run.records) {
    if (!counts(record)) continue;
    if (record.sent >= record.due) lags.push_back((record.sent - record.due) * 1000);
    if (!record.good()) {
      ++metrics.failed;
      continue;
    }
    ++metrics.completed;
    metrics.input_tokens += std::max<std::int64_t>(0, record.prompt_tokens);
    metrics.output_tokens += record.output_tokens();
    metrics.cached_tokens += std::max<std::int64_t>(0, record.cached_tokens);
  }
  metrics.max_at_once = max_at_once(run);
  metrics.send_lag = metrics::distribution_of(lags);
  const Latencies latencies = latencies_of(run);
  metrics.ttft = metrics_of_sample(latencies.ttft);
  metrics.tpot = metrics_of_sample(latencies.tpot);
  metrics.itl = metrics_of_sample(latencies.itl);
  metrics.latency = metrics_of_sample(latencies.latency);
  for (const std::string& metric : more.metrics) {
    const SessionSample& sample = latencies.named(metric);
    for (const double level : more.levels) {
      if (sample.empty()) continue;
      metrics.percentiles.emplace_back(fmt::format("p{:g}_{}_ms", level, metric), sample.quantile(level / 100));
    }
  }
  estimate_latencies(latencies, metrics);
  estimate_throughput(run, metrics);
  for (const Slo& slo : slos) metrics.goodput.push_back(goodput_of(run, slo));
  return metrics;
}

}  // namespace millrace::loadtest
