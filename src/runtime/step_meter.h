#pragma once

#include "engine/engine.h"
#include "engine/load/step_meter.h"
#include "runtime/loaded_model.h"

namespace millrace::runtime {

// The argument of StepReporter::measure() for an engine that runs this model.
inline engine::load::StepMeter step_meter(const LoadedModel& loaded, const engine::Engine& engine) {
  return {loaded.transformer->spec(), loaded.weight_bytes(0), static_cast<double>(engine.limits().kv_bytes_per_token)};
}

// Which part of the weights a step reads, for sched::StepCost.
inline sched::WeightReads weight_reads(const model::Transformer& model) {
  constexpr double kAllRows = 1e9;
  const double all = model.weight_bytes(kAllRows), none = model.weight_bytes(0);
  if (all == none) return {};
  return {.experts = (all - none) / all, .left_out = (all - model.weight_bytes(1)) / (all - none)};
}

}  // namespace millrace::runtime
