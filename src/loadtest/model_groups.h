#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loadtest/load_run.h"
#include "metrics/statistics.h"

namespace millrace::loadtest {

// The requests of a run that the workload sent to one model or adapter, those that count.
struct ModelGroup {
  std::string model;  // "" = the default
  std::int64_t completed = 0, failed = 0, output_tokens = 0;
  metrics::Distribution ttft_ms, tpot_ms;  // tpot: of requests with at least two tokens
  // What the server said with its answers: how many waited for their adapter, and the mean of those waits in ms.
  std::int64_t waited = 0;
  double wait_ms = 0.0;
};

// By number of requests, the greatest first. Empty where the workload chose none.
std::vector<ModelGroup> model_groups(const LoadRun& run);

}  // namespace millrace::loadtest
