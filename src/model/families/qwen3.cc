// Qwen3 (arXiv:2505.09388): the Llama layer with RMSNorm on each query and key head.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr std::string_view kQwen3Text = R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128,
    "max_position_embeddings": 32768, "sliding_window": 4096})";

}  // namespace

ModelFamily qwen3() {
  return {.name = "qwen3",
          .hf = {"Qwen3ForCausalLM"},
          .gguf = {"qwen3", "qwen3vl"},
          .text_types = {{"qwen3", kQwen3Text}, {"qwen3_vl_text"}},
          .defaults = {.windows = false},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            add_head_norms(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
