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
  const RankWeights weights = RankWeights::of(model);
  if (weights.experts == 0.0) return {};
  const double of_one_row = model.weight_bytes(1) - weights.each_step;
  return {.experts = weights.experts / (weights.each_step + weights.experts),
          .left_out = 1.0 - of_one_row / weights.experts};
}

}  // namespace millrace::runtime
