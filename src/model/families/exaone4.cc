// EXAONE 4 (arXiv:2507.11407): norms behind the blocks alone and of heads; where some layers have windows, the others
// do not rotate.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily exaone4() {
  return {.name = "exaone4",
          .hf = {"Exaone4ForCausalLM"},
          .gguf = {"exaone4"},
          .defaults = {.norm_eps = 1e-5, .window_period = 4},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            add_post_norms(spec, view.gguf(), "post_attention_layernorm", "post_feedforward_layernorm");
            add_head_norms(spec);
            each_attention(spec, [&](AttentionParams& a) {
              a.names.norm.clear();
              if (config.sliding_window > 0 && a.window == 0) a.rope = -1;
            });
            each_mlp(spec, [](MlpParams& mlp) { mlp.names.norm.clear(); });
            return spec;
          }};
}

}  // namespace millrace::model::families
