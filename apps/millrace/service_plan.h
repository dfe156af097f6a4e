#pragma once

#include <string>
#include <vector>

#include "engine_flags.h"

namespace CLI {
class App;
}

namespace millrace::app {

// `simulate` as a planning tool: what policies do with a load on a machine whose speed `doctor --model-speed` measured.
struct ServicePlanFlags {
  std::string workload, trace, model_speed, against;
  std::vector<std::string> policies, goodput;
  double request_rate = 0.0;
  std::int64_t block_size = 32;
  EngineFlags serving;

  void declare(CLI::App& app);
  bool wanted() const noexcept { return !workload.empty() || !trace.empty(); }
};

// Prints a table, or one JSON object; the exit code. Throws LoadError.
int plan_service(const ServicePlanFlags& flags, bool json);

}  // namespace millrace::app
