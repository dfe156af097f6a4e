#pragma once

#include <string>
#include <vector>

#include "engine_flags.h"

namespace CLI {
class App;
}

namespace millrace::app {

// Flags of `simulate` as a planning tool: it predicts how scheduling policies serve a load on a machine whose speed
// `doctor --model-speed` has measured.
struct ServicePlanFlags {
  // `workload` is text for simulator::parse_workload(), `trace` a path for parse_trace(): at most one is given.
  // `model_speed` is the path of a file for read_model_speed(); empty: the speed of `against` is measured. `against` is
  // the reference of a model that runs the load too, in real time; empty: none.
  std::string workload, trace, model_speed, against;
  std::vector<std::string> policies, goodput;
  double request_rate = 0.0;     // requests per second; 0 = the arrival times of the load
  std::int64_t block_size = 32;  // tokens of a page, [1, 1024]
  EngineFlags serving;

  void declare(CLI::App& app);
  bool wanted() const noexcept { return !workload.empty() || !trace.empty(); }
};

// Runs the load under each policy and prints a table, or one JSON object if `json`. Returns the exit code. With
// `against` it also takes the load's real time for each policy. Throws LoadError naming the flag.
int plan_service(const ServicePlanFlags& flags, bool json);

}  // namespace millrace::app
