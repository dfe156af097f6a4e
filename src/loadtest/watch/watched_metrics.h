#pragma once

#include <limits>
#include <optional>

#include "metrics/prometheus_text.h"

namespace millrace::loadtest {

// What is kept of one reading of a server's /metrics, summed over its models: some hundred bytes, so that hours of them
// are no matter. NaN: the server has no such metric.
struct WatchedMetrics {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  // Now.
  double running = kUnknown, waiting = kUnknown;                // sequences
  double kv_used = kUnknown;                                    // 0 to 1
  double bandwidth_share = kUnknown, compute_share = kUnknown;  // MBU and MFU of its last 10 s by itself, 0 to 1
  // Since the server began.
  double prompt_tokens = kUnknown, generation_tokens = kUnknown, cached_tokens = kUnknown;
  double recomputed_tokens = kUnknown, preemptions = kUnknown;
  double drafts = kUnknown, draft_tokens = kUnknown, accepted_tokens = kUnknown;
  double read_bytes = kUnknown, step_seconds = kUnknown;
};

WatchedMetrics watched_metrics(const metrics::MetricsReading& metrics);

// The tokens that the pages of all its models hold; does not change while a server lives. None where it does not say.
std::optional<double> kv_capacity_tokens(const metrics::MetricsReading& metrics);

}  // namespace millrace::loadtest
