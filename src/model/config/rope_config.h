#pragma once

#include <span>

#include "checkpoint/config_view.h"
#include "model/config/model_config.h"

namespace millrace::model {

// Reads rope_theta, rope_dim and rope_scaling. In config.json these are rope_theta and rope_scaling {type | rope_type,
// ...}, or rope_parameters {rope_theta, rope_type, ...} of Transformers 5; in GGUF rope.*. config.head_dim must be set.
// Throws LoadError.
void read_rope(checkpoint::ConfigView& view, ModelConfig& config);

// Every field that read_rope() reads.
std::span<const checkpoint::ConfigField> rope_fields();

}  // namespace millrace::model
