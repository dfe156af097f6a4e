#pragma once

#include <string>
#include <vector>

#include "metrics/prometheus_text.h"

namespace millrace::server::observe {

// The activity of one model between two readings of a server's metrics, and its state at the second. Works with vLLM's
// servers too; values that only millrace reports are 0 there.
struct ModelView {
  std::string model;
  double seconds = 0.0;  // between the readings; 0 = one reading, rates are means since the start
  double prompt_tokens_s = 0.0, cached_tokens_s = 0.0, output_tokens_s = 0.0, requests_s = 0.0;
  double running = 0.0, waiting = 0.0, paused = 0.0, kv_share = 0.0;
  double ttft_p50 = 0.0, ttft_p95 = 0.0, itl_p50 = 0.0, itl_p95 = 0.0;  // seconds
  double mbu = 0.0, mfu = 0.0, busy = 0.0;                              // 0 to 1
  double schedule_share = 0.0, prepare_share = 0.0, forward_share = 0.0,
         commit_share = 0.0;               // shares of the steps' time
  double step_sequences = 0.0;             // mean of a step
  double preemptions = 0.0, failed = 0.0;  // counts between the readings
  double last_step_age_seconds = 0.0;
  bool up = true;
};

// One view for each model, ascending by name. `before` may be empty; `seconds` are between the readings.
std::vector<ModelView> views_of(const metrics::MetricsReading& before, const metrics::MetricsReading& after,
                                double seconds);

}  // namespace millrace::server::observe
