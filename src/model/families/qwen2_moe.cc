// Qwen1.5 and Qwen2's mixtures (arXiv:2407.10671): experts of which one sees every row, scaled by a gate of its own.
#include "model/qwen_moe_spec.h"

namespace millrace::model::families {

ModelFamily qwen2_moe() {
  return {.name = "qwen2_moe",
          .hf = {"Qwen2MoeForCausalLM"},
          .gguf = {"qwen2moe"},
          .defaults = {.json = R"({"moe_intermediate_size": 1408,
                                   "shared_expert_intermediate_size": 5632, "decoder_sparse_step": 1,
                                   "norm_topk_prob": false})",
                       .attention_bias = true,
                       .windows = false},
          .fields = qwen_moe_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            ExpertsParams experts = read_experts(view, spec, {.experts = 60, .chosen = 4, .normalised = false});
            ExpertNames& names = experts.names;
            names.shared_factor = view.gguf() ? "blk.{}.ffn_gate_inp_shexp" : "model.layers.{}.mlp.shared_expert_gate";
            if (!view.gguf()) name_shared_expert(names, "model.layers.{}.mlp.shared_expert.");
            use_qwen_experts(view, spec, experts);
            return spec;
          }};
}

}  // namespace millrace::model::families
