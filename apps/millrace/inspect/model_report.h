#pragma once

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/checkpoint.h"
#include "model_flags.h"

namespace millrace::app {

// What a model is and what it will take, from its headers; of weights only what memory_plan.h names is read. `millrace
// inspect --json` prints it; with `tensors` it lists each. Throws LoadError where the configuration says too little,
// and where the flags name no device; a model that no family reads has nulls and a warning.
nlohmann::ordered_json model_report(const checkpoint::Checkpoint& checkpoint, const ModelFlags& flags, bool tensors);

}  // namespace millrace::app
