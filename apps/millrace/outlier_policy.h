#pragma once

#include "loaded_model.h"

namespace millrace::app {

// Gives the weights whose activations int8 rounds too coarsely a second term. They are found by running a short text
// through the model at its first start and remembered beside the other caches, by the model's content and this
// build.
void apply_outlier_policy(LoadedModel& loaded);

}  // namespace millrace::app
