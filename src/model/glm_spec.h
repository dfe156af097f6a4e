#pragma once

#include "model/llama_spec.h"

namespace millrace::model {

// What GLM-4's generations share: rotary pairs in half of a head, biases on Q, K and V, gate and up in one tensor.
ModelSpec glm_spec(checkpoint::ConfigView& view, const ModelConfig& config);

}  // namespace millrace::model
