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

// Does this request say something about the server? Not in warm-up, and neither left by us nor stopped with the run.
inline bool counts(const RequestRecord& record) noexcept {
  return !record.warmup && record.outcome != Outcome::kDisconnected && record.outcome != Outcome::kStopped;
}

using metrics::Slo;
// Never by one that failed.
bool met(const Slo& slo, const RequestRecord& record) noexcept;

// Mean, median, standard deviation (over n, as numpy's) and percentiles of one metric over the good requests that
// count, in milliseconds; zeros where there is none.
struct LatencyMetrics {
  double mean = 0.0, median = 0.0, deviation = 0.0, p90 = 0.0, p95 = 0.0, p99 = 0.0;
};

// What a run comes to, of the requests that count. Those that failed are in `failed` and in goodput alone.
struct RunMetrics {
  std::int64_t completed = 0, failed = 0;
  double seconds = 0.0;
  std::int64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0;  // 0 too where no reply says
  std::int64_t max_at_once = 0;  // requests sent and not ended, those that do not count too
  // tpot: of requests with two tokens at least; itl: gaps between consecutive events of a stream, of all pooled.
  LatencyMetrics ttft, tpot, itl, latency;
  // Named as in docs/bench_reports.md: median_ttft_ms, p99_tpot_ms, output_throughput, ... ; each with its interval.
  // A metric of which no request has a value is not there.
  std::vector<std::pair<std::string, Estimate>> estimates;
  struct Goodput {
    Slo slo;
    Estimate share;  // of all counted requests
    double requests_s = 0.0, tokens_s = 0.0;
  };
  std::vector<Goodput> goodput;
  std::vector<std::pair<std::string, double>> percentiles;  // those asked for besides: "p99.9_ttft_ms"
  metrics::Distribution send_lag;                           // due to sent, ms, of those that were sent
  const Estimate* find(std::string_view name) const noexcept;
};

// Percentiles besides those that every run has: levels in [0, 100] of metrics "ttft", "tpot", "itl", "e2el".
struct MorePercentiles {
  std::vector<std::string> metrics;
  std::vector<double> levels;
};

// Latencies: bootstrap over sessions; the gaps between tokens, of which there may be millions, by Woodruff's interval
// over sessions; throughput: bootstrap over slices of time (docs/loadtest.md, RunMetrics). A fixed seed: the same
// records give the same figures. Cost: about a second for 20,000 requests of 200 events.
RunMetrics metrics_of(const LoadRun& run, std::span<const Slo> slos, const MorePercentiles& more = {});

}  // namespace millrace::loadtest
