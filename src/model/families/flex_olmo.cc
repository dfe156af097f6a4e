// FlexOlmo (arXiv:2507.07024): OLMo 2's layer with experts.
#include "model/moe_spec.h"

namespace millrace::model::families {

ModelFamily flex_olmo() {
  return {.name = "flex_olmo",
          .hf = {"FlexOlmoForCausalLM"},
          .gguf = {},
          .defaults = {.json = R"({"rope_theta": 500000.0, "norm_topk_prob": false})"},
          .fields = moe_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            add_post_norms(spec, view.gguf(), "post_attention_layernorm", "post_feedforward_layernorm");
            add_head_norms(spec);
            each_attention(spec, [](AttentionParams& a) { a.q_k_norm->over_row = true; });
            drop_input_norms(spec);
            use_experts(spec, read_experts(view, spec, {.experts = 7, .chosen = 5}));
            return spec;
          }};
}

}  // namespace millrace::model::families
