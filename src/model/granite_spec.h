#pragma once

#include "model/llama_spec.h"

namespace millrace::model {

// Llama's layer with factors for embeddings, scores, what blocks add, and logits: Granite and those that took them from
// muP (arXiv:2203.03466).
ModelSpec granite_spec(checkpoint::ConfigView& view, const ModelConfig& config);
// The fields that granite_spec() reads.
std::vector<checkpoint::ConfigField> granite_fields();

}  // namespace millrace::model
