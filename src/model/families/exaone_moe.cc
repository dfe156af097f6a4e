// EXAONE with experts (LG, K-EXAONE): norms of heads, a window in three of four layers, the others do not rotate;
// experts chosen by sigmoids beside shared ones.
#include "model/moe_spec.h"

namespace millrace::model::families {

ModelFamily exaone_moe() {
  return {.name = "exaone_moe",
          .hf = {"ExaoneMoeForCausalLM", "ExaoneMoEForCausalLM"},
          .gguf = {"exaone-moe"},
          .defaults = {.json = R"({"sliding_window": 4096, "first_k_dense_replace": 1, "moe_intermediate_size": 1024,
                                   "num_shared_experts": 1, "routed_scaling_factor": 2.5})",
                       .norm_eps = 1e-5,
                       .window_period = 4},
          .fields = moe_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec_without_mtp(view, config);
            spec.names.ignored.emplace_back("mtp.*");
            add_head_norms(spec);
            each_attention(spec, [&](AttentionParams& a) {
              if (config.sliding_window > 0 && a.window == 0) a.rope = -1;
            });
            const MoeDefaults defaults{.router = "sigmoid",
                                       .experts = 64,
                                       .chosen = 8,
                                       .floor = kSigmoidFloor,
                                       .choice_bias = "mlp.e_score_correction_bias"};
            use_experts_as_read(view, spec, read_experts(view, spec, defaults));
            return spec;
          }};
}

}  // namespace millrace::model::families
