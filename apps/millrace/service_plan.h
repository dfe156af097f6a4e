#pragma once

#include <string>
#include <vector>

#include "engine_flags.h"

namespace CLI {
class App;
}

namespace millrace::app {

// The flags of `simulate` as a planning tool: predicts how policies serve a load, with step times measured by `doctor
// --model-speed`.
struct ServicePlanFlags {
  std::string workload, trace, model_speed, against;
  std::vector<std::string> policies, goodput;
  double request_rate = 0.0;
  std::int64_t block_size = 32;
  EngineFlags serving;

  void declare(CLI::App& app);
  bool wanted() const noexcept { return !workload.empty() || !trace.empty(); }
};

// Prints a table, or one JSON object, and returns the exit code. Throws LoadError.
int plan_service(const ServicePlanFlags& flags, bool json);

}  // namespace millrace::app
