// OLMo 2 and 3 (arXiv:2501.00656, arXiv:2512.13961): norms behind the blocks alone, and of all queries and all keys
// together; OLMo 3 with windows in three of four layers, whose rotation is not scaled.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily olmo2() {
  return {.name = "olmo2",
          .hf = {"Olmo2ForCausalLM", "Olmo3ForCausalLM"},
          .gguf = {"olmo2"},
          .text_types = {{"olmo3"}},
          .defaults = {.norm_eps = 1e-5, .window_period = 4},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            if (!config.sliding_rope && config.sliding_window > 0) {
              config.sliding_rope = RopeConfig{.theta = config.rope.theta, .dim = config.rope.dim, .scaling = {}};
            }
            ModelSpec spec = llama_spec(view, config);
            add_post_norms(spec, view.gguf(), "post_attention_layernorm", "post_feedforward_layernorm");
            add_head_norms(spec);
            each_attention(spec, [](AttentionParams& a) { a.q_k_norm->over_row = true; });
            drop_input_norms(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
