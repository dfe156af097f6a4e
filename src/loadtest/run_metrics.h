#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loadtest/confidence.h"
#include "loadtest/load_run.h"
#include "metrics/slo.h"
#include "metrics/statistics.h"

namespace millrace::loadtest {

// Whether the request counts: not in warm-up, not planned to disconnect, and not stopped with the run.
inline bool counts(const RequestRecord& record) noexcept {
  return !record.warmup && record.outcome != Outcome::kDisconnected && record.outcome != Outcome::kStopped;
}

using metrics::Slo;
// Whether a request met the SLO; a failed one never does.
bool met(const Slo& slo, const RequestRecord& record) noexcept;

// Mean, median, standard deviation (over n, as numpy's) and percentiles of one latency over the good requests that
// count, in milliseconds; zeros if there are none.
struct LatencyMetrics {
  double mean = 0.0, median = 0.0, deviation = 0.0, p90 = 0.0, p95 = 0.0, p99 = 0.0;
};

// The metrics of a run, over the requests that count. Failed requests are only part of `failed` and of goodput.
struct RunMetrics {
  std::int64_t completed = 0, failed = 0;
  double seconds = 0.0;
  std::int64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0;  // 0 if no reply has them
  std::int64_t max_at_once = 0;  // limit of concurrent requests reached, uncounted ones included
  // tpot: of requests with at least two tokens; itl: gaps between successive events of a stream, pooled over all
  // streams.
  LatencyMetrics ttft, tpot, itl, latency;
  // Metrics with intervals by their names in docs/bench_reports.md: median_ttft_ms, p99_tpot_ms, output_throughput, ...
  // A metric without values is absent.
  std::vector<std::pair<std::string, Estimate>> estimates;
  struct Goodput {
    Slo slo;
    Estimate share;  // of all counted requests
    double requests_s = 0.0, tokens_s = 0.0;
  };
  std::vector<Goodput> goodput;
  std::vector<std::pair<std::string, double>> percentiles;  // the additional ones: "p99.9_ttft_ms"
  metrics::Distribution send_lag;                           // milliseconds from due to sent, of requests that were sent
  const Estimate* find(std::string_view name) const noexcept;
};

// Percentiles in addition to those of every run: levels in [0, 100], of metrics "ttft", "tpot", "itl", "e2el".
struct MorePercentiles {
  std::vector<std::string> metrics;
  std::vector<double> levels;
};

// Computes all metrics. Intervals of latencies are bootstrapped over sessions; those of gaps between tokens, of which
// there may be millions, are Woodruff's over sessions; those of throughput are bootstrapped over slices of time
// (docs/loadtest.md). The seed is fixed: the same records give the same metrics. Costs about a second for 20,000
// requests of 200 events.
RunMetrics metrics_of(const LoadRun& run, std::span<const Slo> slos, const MorePercentiles& more = {});

}  // namespace millrace::loadtest
