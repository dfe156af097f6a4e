// dots.llm1 (arXiv:2506.05767): norms of heads, and experts chosen by sigmoids beside shared ones.
#include "model/moe_spec.h"

namespace millrace::model::families {

ModelFamily dots1() {
  return {.name = "dots1",
          .hf = {"Dots1ForCausalLM"},
          .gguf = {"dots1"},
          .defaults = {.json = R"({"moe_intermediate_size": 1408, "max_window_layers": 62, "norm_topk_prob": false})",
                       .code_is_known = true},
          .fields = moe_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec_without_mtp(view, config);
            add_head_norms(spec);
            const MoeDefaults defaults{.router = "sigmoid",
                                       .experts = 128,
                                       .chosen = 6,
                                       .floor = kSigmoidFloor,
                                       .choice_bias = "mlp.gate.e_score_correction_bias"};
            use_experts_as_read(view, spec, read_experts(view, spec, defaults));
            return spec;
          }};
}

}  // namespace millrace::model::families
