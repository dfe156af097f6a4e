// GLM-4-0414 (Z.ai): GLM-4 with norms on both sides of each block.
#include "model/glm_spec.h"

namespace millrace::model::families {

ModelFamily glm4() {
  return {.name = "glm4",
          .hf = {"Glm4ForCausalLM"},
          .gguf = {"glm4"},
          .defaults = {.json = R"({"head_dim": 128, "num_key_value_heads": 2, "partial_rotary_factor": 0.5})",
                       .norm_eps = 1.5625e-7,
                       .attention_bias = true},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = glm_spec(view, config);
            add_post_norms(spec, view.gguf(), "post_self_attn_layernorm", "post_mlp_layernorm");
            return spec;
          }};
}

}  // namespace millrace::model::families
