#pragma once

#include <span>

#include "checkpoint/config_view.h"
#include "model/config/model_config.h"

namespace millrace::model {

// Fills rope_theta, rope_dim and rope_scaling. config.json: rope_theta + rope_scaling {type | rope_type, ...}, or
// Transformers 5's rope_parameters {rope_theta, rope_type, ...}; GGUF: rope.*. config.head_dim must be set. Throws
// LoadError.
void read_rope(checkpoint::ConfigView& view, ModelConfig& config);

std::span<const checkpoint::ConfigField> rope_fields();

}  // namespace millrace::model
