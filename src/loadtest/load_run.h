#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/env.h"
#include "loadtest/load_hooks.h"
#include "loadtest/request_body.h"
#include "loadtest/request_record.h"
#include "loadtest/target.h"
#include "loadtest/workload.h"

namespace millrace::loadtest {

// How sessions are sent.
struct LoadPlan {
  std::int64_t sessions = 1000;
  // Open loop: for each session the second at which it begins. Empty: closed loop, with `users` sessions at a time.
  std::vector<double> starts;
  // Closed loop: concurrent sessions, at least 1. Open loop: limit of concurrent sessions, 0 = none; a session that
  // waits for it is sent late, and its latency counts from when it was due.
  std::int64_t users = 0;
  double think_s = 0.0;  // closed loop: pause of a user between two sessions
  double seconds = 0.0;  // no session begins after that; 0 = no limit
  // Sessions before the clock starts, `users` at a time (or 1), marked as warm-up. They are the sessions of the
  // workload after the counted ones, so that these do not depend on the warm-up.
  std::int64_t warmup = 0;
  double request_timeout_s = 6 * 3600.0;
  double disconnect_fraction = 0.0;  // share of requests whose client disconnects at a random token; [0, 1]
  std::uint64_t seed = 0;            // of the random disconnects
};

struct LoadRun {
  std::vector<RequestRecord> records;  // by index, warm-up first
  double seconds = 0.0;                // from the first counted request to the end of the last one
  double started_unix_s = 0.0;         // wall clock at time 0 of the records
  TimePoint started{};                 // the same time by the steady clock, which servers on this machine share
  double client_cpu_s = 0.0;           // processor time of this process during the run
  bool stopped = false;                // `stop` returned true: requests in flight are in the records as kStopped
};

// Sends the load and waits for its end, on the calling thread alone. Never retries. A request that fails ends its
// session; others continue. Throws LoadError only if the target cannot be reached before the first request.
LoadRun run_load(const Target& target, const RequestStyle& style, const Workload& workload, const LoadPlan& plan,
                 const LoadHooks& hooks = {});

}  // namespace millrace::loadtest
