// MiniMax-M2 (MiniMax, 2025): norms of all queries and all keys together, partial rotation, and experts chosen by
// sigmoids.
#include "model/moe_spec.h"

namespace millrace::model::families {

ModelFamily minimax_m2() {
  return {.name = "minimax_m2",
          .hf = {"MiniMaxM2ForCausalLM"},
          .gguf = {"minimax-m2"},
          .defaults = {.json = R"({"head_dim": 128, "rope_theta": 5000000.0})", .code_is_known = true},
          .fields = moe_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec_without_mtp(view, config);
            add_head_norms(spec);
            each_attention(spec, [](AttentionParams& a) { a.q_k_norm->over_row = true; });
            const MoeDefaults defaults{.router = "sigmoid",
                                       .experts = 256,
                                       .chosen = 8,
                                       .choice_bias = "block_sparse_moe.e_score_correction_bias"};
            ExpertsParams experts = read_experts(view, spec, defaults);
            if (!view.gguf()) name_as_mixtral(experts.names);
            use_experts(spec, experts);
            return spec;
          }};
}

}  // namespace millrace::model::families
