#pragma once

#include <nlohmann/json_fwd.hpp>

#include "checkpoint/checkpoint.h"
#include "model_flags.h"

namespace millrace::app {

// The report of `millrace inspect --json`: what a model is and what it will take. Reads headers, and of the weights
// only what memory_plan.h names. `tensors`: list every tensor. Throws LoadError for an incomplete configuration or an
// unknown device. For a model of an unknown family, fields are null and there is a warning.
nlohmann::ordered_json model_report(const checkpoint::Checkpoint& checkpoint, const ModelFlags& flags, bool tensors);

}  // namespace millrace::app
