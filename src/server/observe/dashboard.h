#pragma once

#include <string>
#include <vector>

#include "metrics/prometheus_text.h"

namespace millrace::server::observe {

// What one model of a server did between two readings of its metrics, and its state at the second one. Metrics that a
// server lacks count as 0, so vLLM's servers can be viewed too. Names that end with _s are rates per second.
struct ModelView {
  std::string model;
  double seconds = 0.0;  // between the readings; 0: only one reading, with means since the start
  double prompt_tokens_s = 0.0, cached_tokens_s = 0.0, output_tokens_s = 0.0, requests_s = 0.0;
  double running = 0.0, waiting = 0.0, paused = 0.0, kv_share = 0.0;    // requests; kv_share: [0, 1]
  double ttft_p50 = 0.0, ttft_p95 = 0.0, itl_p50 = 0.0, itl_p95 = 0.0;  // seconds
  double mbu = 0.0, mfu = 0.0, busy = 0.0;                              // [0, 1]
  double schedule_share = 0.0, prepare_share = 0.0, forward_share = 0.0,
         commit_share = 0.0;               // shares of step time, [0, 1]
  double step_sequences = 0.0;             // mean per step
  std::vector<double> rank_waits;          // by rank, what it waits for others of its time, [0, 1]; empty: one rank
  double preemptions = 0.0, failed = 0.0;  // between the readings
  double last_step_age_seconds = 0.0;
  bool up = true;
};

// One view for each model in `after`, sorted by name. `seconds` lie between the readings; where `before` is empty it is
// ignored, and rates are means since the process started.
std::vector<ModelView> views_of(const metrics::MetricsReading& before, const metrics::MetricsReading& after,
                                double seconds);

}  // namespace millrace::server::observe
