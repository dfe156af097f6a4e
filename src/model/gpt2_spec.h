#pragma once

#include "model/llama_spec.h"

namespace millrace::model {

// What GPT-2 and its descendants share: layer norms, learned positions, biases everywhere, an ungated MLP; Q, K and V
// in one tensor.
ModelSpec gpt2_spec(checkpoint::ConfigView& view, const ModelConfig& config);
// Throws LoadError where the configuration asks for variants of the attention that change its arithmetic.
void reject_gpt2_variants(checkpoint::ConfigView& view);
// What their classes take for granted.
ConfigDefaults gpt2_defaults(std::string_view activation);
// The fields that reject_gpt2_variants() reads.
std::vector<checkpoint::ConfigField> gpt2_fields();

}  // namespace millrace::model
