#pragma once

#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/load/step_meter.h"
#include "runtime/loaded_model.h"

namespace millrace::runtime {

// The argument of StepReporter::measure() for an engine that runs this model.
inline engine::load::StepMeter step_meter(const LoadedModel& loaded, const engine::Engine& engine) {
  constexpr int kRows = 256;  // with more, nearly all experts are chosen
  std::vector<double> weight_bytes;
  for (int rows = 1; rows <= kRows; ++rows) weight_bytes.push_back(loaded.transformer->weight_bytes(rows));
  return {loaded.transformer->spec(), std::move(weight_bytes), static_cast<double>(engine.limits().kv_bytes_per_token)};
}

}  // namespace millrace::runtime
