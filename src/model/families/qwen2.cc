// Qwen2 and Qwen2.5 (arXiv:2407.10671): the Llama layer with biases on Q, K and V, which no field mentions. Windows are
// off unless use_sliding_window says otherwise.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr std::string_view kQwen2Text = R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 32768,
    "sliding_window": 4096})";

}  // namespace

ModelFamily qwen2() {
  return {.name = "qwen2",
          .hf = {"Qwen2ForCausalLM", "Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"},
          .gguf = {"qwen2", "qwen2vl"},
          .text_types = {{"qwen2", kQwen2Text}, {"qwen2_vl_text"}, {"qwen2_5_vl_text"}},
          .defaults = {.attention_bias = true, .windows = false},
          .spec = llama_spec};
}

}  // namespace millrace::model::families
