#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "checkpoint/checkpoint.h"
#include "inspect/step_prediction.h"
#include "model_flags.h"

namespace millrace::app {

// The report of `millrace inspect --json`: what a model is and how much memory it needs. Reads file headers, and of the
// weights only what model/memory_plan.h names. `tensors` adds a list of all tensors. Where flags ask for several
// ranks it has what describe_ranks() says. A model of no known family has null in "family", "weights" and "memory", and
// a warning. Throws LoadError if the configuration is incomplete or the flags are invalid.
nlohmann::ordered_json model_report(const checkpoint::Checkpoint& checkpoint, const ModelFlags& flags,
                                    const PredictionFlags& prediction, bool tensors);

}  // namespace millrace::app
