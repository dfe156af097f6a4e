#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loadtest/confidence.h"
#include "loadtest/load_run.h"
#include "loadtest/objective.h"

namespace millrace::loadtest {

// mean, median, standard deviation and percentiles of one metric over the good, counted requests, in milliseconds.
struct LatencyFigures {
  double mean = 0.0, median = 0.0, deviation = 0.0, p90 = 0.0, p95 = 0.0, p99 = 0.0;
};

// What a run comes to. Requests that failed count in `failed` and in goodput alone.
struct Figures {
  std::int64_t completed = 0, failed = 0;
  double seconds = 0.0;
  std::int64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0;
  std::int64_t most_at_once = 0;
  LatencyFigures ttft, tpot, itl, latency;
  // Named as in docs/bench_reports.md: median_ttft_ms, p99_tpot_ms, output_throughput, ... ; each with its interval.
  std::vector<std::pair<std::string, Estimate>> estimates;
  struct Goodput {
    Objective objective;
    Estimate share;  // of all counted requests
    double requests_s = 0.0, tokens_s = 0.0;
  };
  std::vector<Goodput> goodput;
  LatencyFigures send_lag;  // due to sent
  const Estimate* find(std::string_view name) const noexcept;
};

// Bootstrap over sessions, with a fixed seed: the same records give the same figures.
Figures figures_of(const LoadRun& run, std::span<const Objective> objectives);

}  // namespace millrace::loadtest
