// KORMo 10B (arXiv:2510.09426): Llama's layer with other names of its norms. GGUF calls it "qwen2".
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily kormo() {
  return {.name = "kormo",
          .hf = {"KORMoForCausalLM"},
          .gguf = {},
          .defaults = {.code_is_known = true},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            each_attention(spec, [](AttentionParams& a) { a.names.norm = "model.layers.{}.pre_attention_layernorm"; });
            each_mlp(spec, [](MlpParams& mlp) { mlp.names.norm = "model.layers.{}.pre_mlp_layernorm"; });
            return spec;
          }};
}

}  // namespace millrace::model::families
