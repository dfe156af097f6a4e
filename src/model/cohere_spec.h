#pragma once

#include "model/llama_spec.h"

namespace millrace::model {

// What Cohere's Command R generations share: attention and MLP in parallel behind one layer norm without bias, rotary
// pairs, a factor of the logits.
ModelSpec cohere_spec(checkpoint::ConfigView& view, const ModelConfig& config);
// The sizes of their classes' defaults, as in ConfigDefaults::json.
inline constexpr std::string_view kCohereSizes = R"({"vocab_size": 256000, "hidden_size": 8192,
    "intermediate_size": 22528, "num_hidden_layers": 40, "num_attention_heads": 64, "max_position_embeddings": 8192})";
// The field that it reads.
inline constexpr checkpoint::ConfigField kLogitScale{
    .json = {"logit_scale"}, .gguf = {"logit_scale"}, .neutral = "1.0"};

}  // namespace millrace::model
