#pragma once

#include "model/llama_spec.h"

namespace millrace::model {

// What Cohere's Command R generations share: attention and MLP in parallel behind one layer norm without bias, rotary
// pairs, a factor of the logits.
ModelSpec cohere_spec(checkpoint::ConfigView& view, const ModelConfig& config);
// The field that it reads.
inline constexpr checkpoint::ConfigField kLogitScale{
    .json = {"logit_scale"}, .gguf = {"logit_scale"}, .neutral = "1.0"};

}  // namespace millrace::model
