#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "model_flags.h"
#include "sched/step_cost.h"

namespace millrace::app {

// Cost of a model's steps on this machine: a linear model fitted to the times of real steps of many sizes.
struct ModelSpeed {
  sched::StepCost cost;
  std::int64_t steps = 0;      // number of measured steps
  double typical_error = 0.0;  // median of |fitted - measured| / measured
};
// Runs the steps on the calling thread with a KV cache of 4096 tokens. Calls `progress` with the share that is done, in
// [0, 1], between steps. Throws LoadError if that cache does not fit.
ModelSpeed measure_model_speed(const LoadedModel& loaded, const ModelFlags& flags,
                               const std::function<void(double)>& progress = {});

nlohmann::ordered_json json_of(const sched::StepCost& cost);
nlohmann::ordered_json json_of(const ModelSpeed& speed, const std::string& model);
// Reads the fields of StepCost from a file that json_of() made, or from what `inspect --json` has predicted for ranks;
// other fields are ignored. Each must be a number of milliseconds in [0, 1e9), or a share in [0, 1]. row_ms and shares
// may be absent: 0. Throws LoadError (kBadFile) naming file and field.
sched::StepCost read_model_speed(const std::string& path);

}  // namespace millrace::app
