#pragma once

#include "engine/engine.h"
#include "engine/load/step_meter.h"
#include "runtime/loaded_model.h"

namespace millrace::runtime {

// The argument of StepReporter::measure() for an engine that runs this model.
inline engine::load::StepMeter step_meter(const LoadedModel& loaded, const engine::Engine& engine) {
  return {loaded.transformer->spec(), loaded.transformer->weight_bytes(1.0),
          static_cast<double>(engine.limits().kv_bytes_per_token)};
}

}  // namespace millrace::runtime
