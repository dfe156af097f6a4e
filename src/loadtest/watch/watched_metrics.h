#pragma once

#include <limits>
#include <optional>

#include "metrics/prometheus_text.h"

namespace millrace::loadtest {

// The values kept of one reading of a server's /metrics, summed over its models. Some hundred bytes, so that hours of
// readings take little memory. NaN: the server lacks the metric.
struct WatchedMetrics {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  // Current values.
  double running = kUnknown, waiting = kUnknown;  // sequences
  double kv_used = kUnknown;                      // 0 to 1
  // MBU and MFU over the last 10 s, as reported by the server; 0 to 1, more or infinite where it exceeds its
  // limits, which are none then.
  double bandwidth_share = kUnknown, compute_share = kUnknown;
  // Totals since the server began.
  double prompt_tokens = kUnknown, generation_tokens = kUnknown, cached_tokens = kUnknown;
  double recomputed_tokens = kUnknown, preemptions = kUnknown;
  double drafts = kUnknown, draft_tokens = kUnknown, accepted_tokens = kUnknown;
  double read_bytes = kUnknown, step_seconds = kUnknown;
};

WatchedMetrics watched_metrics(const metrics::MetricsReading& metrics);

// The number of tokens that the pages of all models hold, which is constant. Nothing if the server does not report it.
std::optional<double> kv_capacity_tokens(const metrics::MetricsReading& metrics);

}  // namespace millrace::loadtest
