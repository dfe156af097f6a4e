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
  // Open loop: seconds at which session i begins, one each. Empty: closed loop, `users` of them at a time.
  std::vector<double> starts;
  std::int64_t users = 0;  // closed loop: sessions at a time, at least 1. Open loop: most at a time, 0 = no limit;
                           // who waits for that is sent late, and its latency counts from when it was due
  double think_s = 0.0;    // closed loop: a user rests so long between two sessions
  double seconds = 0.0;    // begin no session after that; 0 = no limit
  // Sessions before, `users` at a time (or 1), marked as such; the clock starts after them. They are those of the
  // workload that follow on the counted ones, so that these are the same whatever the warm-up is.
  std::int64_t warmup = 0;
  double request_timeout_s = 6 * 3600.0;
  double disconnect_fraction = 0.0;  // share of the requests whose client leaves at a random token, [0, 1]
  std::uint64_t seed = 0;            // of who leaves when
};

struct LoadRun {
  std::vector<RequestRecord> records;  // by index, warm-up first
  double seconds = 0.0;                // from the first request that counts to the last one's end
  double started_unix_s = 0.0;         // wall clock at time 0 of the records
  TimePoint started{};                 // and the steady clock, which local servers share
  double client_cpu_s = 0.0;           // processor time of this process meanwhile
  bool stopped = false;                // `stop` said so: what was in flight is in the records as kStopped
};

// Sends the load and waits for its end, on the calling thread alone. Never retries. A request that fails ends its
// session, others go on. Throws LoadError only where the target cannot be reached at all before the first request.
LoadRun run_load(const Target& target, const RequestStyle& style, const Workload& workload, const LoadPlan& plan,
                 const LoadHooks& hooks = {});

}  // namespace millrace::loadtest
