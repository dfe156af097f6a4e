#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::app {

// What a plan says of one policy. Times in milliseconds.
struct PolicyOutcome {
  std::string policy;
  double ttft_p99 = 0.0, latency_p99 = 0.0;
  double good_share = 0.0;  // of the requests that met the objective, [0, 1]
  double kv_peak = 0.0;     // share of pages in use, [0, 1]
  std::int64_t rejected = 0, preemptions = 0;
  double load_seconds = 0.0, served_seconds = 0.0;  // from the first to the last arrival; to the end of the last one
};

// The policy to use and what limits it, in one or two sentences. `outcomes` has at least one. With `objective` the
// policy with the most good requests is best, else that with the shortest p99 of latency.
std::string advice(const std::vector<PolicyOutcome>& outcomes, bool objective);

}  // namespace millrace::app
