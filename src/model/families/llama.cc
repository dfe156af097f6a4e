// Llama 1 to 3.x, SmolLM and SmolLM2 (arXiv:2302.13971, arXiv:2307.09288, arXiv:2407.21783): RMSNorm, rotary embedding,
// grouped-query attention, SwiGLU. GGUF files of this architecture keep Q and K rows in rotary pairs. GGUF calls
// Mistral and Mixtral "llama" too.
#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

constexpr std::string_view kEmu3Text = R"({"vocab_size": 184622, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 9216,
    "rms_norm_eps": 1e-5, "rope_theta": 1000000.0})";

}  // namespace

ModelFamily llama() {
  return {.name = "llama",
          .hf = {"LlamaForCausalLM"},
          .gguf = {"llama"},
          .text_types = {{"llama", kLlamaSizes}, {"emu3_text_model", kEmu3Text}},
          .fields = moe_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            if (!view.config().gguf || !has_experts(view)) return spec;
            ExpertsParams experts = read_experts(view, spec);
            if (!view.gguf()) name_as_mixtral(experts.names);
            use_experts(spec, experts);
            return spec;
          }};
}

}  // namespace millrace::model::families
