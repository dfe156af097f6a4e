#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "loadtest/request_record.h"

namespace millrace::loadtest {

// While it runs, for the terminal.
struct Progress {
  double seconds = 0.0;
  std::int64_t sent = 0, in_flight = 0, ended = 0, failed = 0,
               total = 0;  // requests; total = the turns of the sessions begun so far
  std::int64_t events = 0;
  bool warmup = false;
  const std::vector<RequestRecord>* records = nullptr;  // those that ended
};

struct LoadHooks {
  std::function<bool()> stop;                     // asked ten times a second at least; may be empty
  std::function<void(const Progress&)> progress;  // about five times a second; may be empty
};

}  // namespace millrace::loadtest
