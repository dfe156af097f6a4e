#pragma once

#include <span>
#include <string>
#include <vector>

#include "loadtest/load_run.h"
#include "loadtest/mock_server.h"
#include "metrics/statistics.h"

namespace millrace::loadtest {

// One metric as scripted, as the server recorded it, and as the client measured it.
struct CheckedMetric {
  std::string name, unit;
  double scripted = 0.0, server = 0.0, client = 0.0;
  double error_percent() const noexcept;  // of the client against the server
};

struct SelfCheck {
  std::vector<CheckedMetric> compared;
  double worst_percent = 0.0;  // maximum error of all of them
  std::int64_t streams = 0, whole = 0, events = 0;
  double events_s = 0.0;
  // By request: delay of its sending. By event: arrival after it was written; writing after it was due.
  metrics::Distribution send_lag_ms, client_delay_ms, server_late_ms;
  double client_cpu_share = 0.0;  // of one processor
  // The client's processor was busy, or the client was not scheduled when it should have sent: such a run measures the
  // client.
  bool client_is_full() const noexcept { return client_cpu_share > 0.9; }
  bool sends_are_late() const noexcept { return send_lag_ms.p99 > 5.0; }
};

// One stream of the mock server, in seconds.
struct PacedStream {
  double due = 0.0, arrived = 0.0;  // when the request was due, and when it arrived at the server; time of the run
  std::vector<double> scripted;     // after the arrival
  std::vector<double> written;      // time of the run
};

// Compares a run with what the server recorded; stream i belongs to record i.
SelfCheck check_against(const LoadRun& run, std::span<const PacedStream> truth);

// Runs the load on a mock server: streams begin within `ramp_s` seconds, as a Poisson process. Throws LoadError.
SelfCheck self_check(const Pace& pace, double ramp_s, const LoadHooks& hooks = {});

}  // namespace millrace::loadtest
