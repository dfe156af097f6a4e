// Hy 3 (Tencent, 2026): norms of heads, and experts chosen by sigmoids beside shared ones; the first layer has none.
#include "model/moe_spec.h"

namespace millrace::model::families {

ModelFamily hy_v3() {
  return {
      .name = "hy_v3",
      .hf = {"HYV3ForCausalLM"},
      .gguf = {"hy_v3"},
      .defaults = {.json = R"({"head_dim": 128, "rope_theta": 11158840.0, "moe_intermediate_size": 1536,
                                   "num_shared_experts": 1, "router_scaling_factor": 2.826,
                                   "num_nextn_predict_layers": 1})",
                   .norm_eps = 1e-5,
                   .code_is_known = true},
      .fields = moe_fields(),
      .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
        ModelSpec spec = llama_spec_without_mtp(view, config);
        add_head_norms(spec);
        const MoeDefaults defaults{
            .router = "sigmoid", .experts = 192, .chosen = 8, .floor = kSigmoidFloor, .choice_bias = "mlp.expert_bias"};
        ExpertsParams experts = read_experts(view, spec, defaults);
        if (view.gguf()) {
          experts.names.choice_bias = "blk.{}.exp_probs_b";
        } else {
          experts.names.router = "model.layers.{}.mlp.router.gate";
          name_shared_expert(experts.names, "model.layers.{}.mlp.shared_mlp.");
        }
        use_experts_as_read(view, spec, experts, 1);
        return spec;
      }};
}

}  // namespace millrace::model::families
