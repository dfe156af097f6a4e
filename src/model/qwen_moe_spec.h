#pragma once

#include <vector>

#include "model/moe_spec.h"

namespace millrace::model {

// Puts experts into the layers that the fields of Qwen's mixtures say: every decoder_sparse_step-th one, without those
// of mlp_only_layers.
void use_qwen_experts(checkpoint::ConfigView& view, ModelSpec& spec, const ExpertsParams& experts);
// The fields of such families, of experts too.
std::vector<checkpoint::ConfigField> qwen_moe_fields();

}  // namespace millrace::model
