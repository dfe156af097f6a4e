#pragma once

#include "model/llama_spec.h"

namespace millrace::model {

// What all of Gemma's generations share.
ModelSpec gemma_spec(checkpoint::ConfigView& view, const ModelConfig& config);

// What those from Gemma 2 on share: norms behind attention and MLP, a scale of its own for scores, caps of scores and
// logits. GGUF files, which lack the scale, have `large_layers` layers where it goes by the share of a head instead of
// its size.
ModelSpec gemma2_spec(checkpoint::ConfigView& view, const ModelConfig& config, std::int64_t large_layers);
// The fields that gemma2_spec() reads.
std::vector<checkpoint::ConfigField> gemma2_fields();

}  // namespace millrace::model
