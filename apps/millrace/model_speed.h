#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "model_flags.h"
#include "sched/step_cost.h"

namespace millrace::app {

// The measured times of a model's steps on this machine: steps of many sizes, and a linear model fitted to them.
struct ModelSpeed {
  sched::StepCost cost;
  std::int64_t steps = 0;
  double typical_error = 0.0;  // median of |fitted - measured| / measured
};
ModelSpeed measure_model_speed(const LoadedModel& loaded, const ModelFlags& flags);

nlohmann::ordered_json json_of(const ModelSpeed& speed, const std::string& model);
// Reads the fields of StepCost and ignores others. Throws LoadError naming file and field.
sched::StepCost read_model_speed(const std::string& path);

}  // namespace millrace::app
