// BitNet b1.58 (arXiv:2504.12285) from its bf16 master: norms in front of the products behind attention and activation,
// a gate of squared ReLU.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily bitnet() {
  return {.name = "bitnet",
          .hf = {"BitNetForCausalLM"},
          .gguf = {"bitnet"},
          .defaults = {.activation = "relu2",
                       .json = R"({"num_key_value_heads": 5, "rope_theta": 500000.0})",
                       .norm_eps = 1e-5,
                       .code_is_known = true},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            each_attention(spec, [&](AttentionParams& a) {
              a.names.sub_norm = view.gguf() ? "blk.{}.attn_sub_norm" : "model.layers.{}.self_attn.attn_sub_norm";
              a.sub_norm = a.norm;
            });
            each_mlp(spec, [&](MlpParams& mlp) {
              mlp.names.sub_norm = view.gguf() ? "blk.{}.ffn_sub_norm" : "model.layers.{}.mlp.ffn_sub_norm";
              mlp.sub_norm = mlp.norm;
              // What GGUF calls bitnet is the reproduction of 2024 (1bitLLM), which has SiLU.
              if (view.gguf()) mlp.activation = backend::Activation::kSilu;
            });
            return spec;
          }};
}

}  // namespace millrace::model::families
