#pragma once

#include "checkpoint/json_fields.h"
#include "checkpoint/model_config.h"

namespace millrace::checkpoint {

// Fills rope_theta, rope_dim and rope_scaling from rope_theta + rope_scaling {type | rope_type, ...} or from
// Transformers 5's rope_parameters {rope_theta, rope_type, ...}. config.head_dim must be set. Throws LoadError.
void read_hf_rope(const JsonFields& fields, ModelConfig& config);

}  // namespace millrace::checkpoint
