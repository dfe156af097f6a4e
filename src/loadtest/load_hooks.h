#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "loadtest/request_record.h"

namespace millrace::loadtest {

// State of a running load, for display.
struct Progress {
  double seconds = 0.0;
  std::int64_t sent = 0, in_flight = 0, ended = 0, failed = 0,
               total = 0;   // requests; total = the turns of the sessions begun so far
  std::int64_t events = 0;  // with text
  bool warmup = false;
  const std::vector<RequestRecord>* records = nullptr;  // requests that have ended
};

struct LoadHooks {
  std::function<bool()> stop;  // called at least ten times per second; true ends the run; may be empty
  std::function<void(const Progress&)> progress;  // called about five times per second; may be empty
};

}  // namespace millrace::loadtest
