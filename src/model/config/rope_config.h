#pragma once

#include <span>

#include "checkpoint/config_view.h"
#include "model/config/model_config.h"

namespace millrace::model {

// Reads rope and sliding_rope. In config.json these are rope_theta and rope_scaling {type | rope_type, ...}, or
// rope_parameters {rope_theta, rope_type, ...} of Transformers 5, there possibly one object for each type of layer; in
// GGUF rope.*. What the file leaves out is as in `config`, of which head_dim and context_length must be set. Throws
// LoadError.
void read_rope(checkpoint::ConfigView& view, ModelConfig& config);

// Every field that read_rope() reads.
std::span<const checkpoint::ConfigField> rope_fields();

}  // namespace millrace::model
