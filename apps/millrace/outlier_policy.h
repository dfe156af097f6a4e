#pragma once

#include "loaded_model.h"

namespace millrace::app {

// Gives the weights whose activations int8 rounds too coarsely a second term. They are found by running a short text
// through the model at its first start and remembered beside the other caches, by `model_key` (checkpoint::content_key)
// and this build.
void apply_outlier_policy(LoadedModel& loaded, std::uint64_t model_key);

}  // namespace millrace::app
