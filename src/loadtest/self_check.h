#pragma once

#include <span>
#include <string>
#include <vector>

#include "loadtest/load_run.h"
#include "loadtest/mock_server.h"
#include "metrics/statistics.h"

namespace millrace::loadtest {

// What a client measured beside what its server did, and both beside what the server was told to do.
struct CheckedMetric {
  std::string name, unit;
  double scripted = 0.0, server = 0.0, client = 0.0;
  double error_percent() const noexcept;  // of the client, against the server
};

struct SelfCheck {
  std::vector<CheckedMetric> compared;
  double worst_percent = 0.0;  // of them
  std::int64_t streams = 0, whole = 0, events = 0;
  double events_s = 0.0;
  metrics::Distribution send_lag_ms, client_delay_ms, server_late_ms;  // of requests; of events: after they were
                                                                       // written; written after they were due
  double client_cpu_share = 0.0;                                       // of one processor
  // Its processor was full, or it was not given one when it should have sent: then it measures itself.
  bool client_is_full() const noexcept { return client_cpu_share > 0.9; }
  bool sends_are_late() const noexcept { return send_lag_ms.p99 > 5.0; }
};

// One stream, in seconds of the run.
struct PacedStream {
  double due = 0.0, arrived = 0.0;  // at the server
  std::vector<double> scripted;     // after the arrival
  std::vector<double> written;      // in the run's time
};

// Stream i belongs to record i.
SelfCheck check_against(const LoadRun& run, std::span<const PacedStream> truth);

// Runs the load on a paced server of its own: streams begin within `ramp_s` seconds, as a Poisson process. Throws
// LoadError.
SelfCheck self_check(const Pace& pace, double ramp_s, const LoadHooks& hooks = {});

}  // namespace millrace::loadtest
