// Qwen3's mixtures (arXiv:2505.09388): the layers of Qwen3 with experts.
#include "model/qwen_moe_spec.h"

namespace millrace::model::families {

ModelFamily qwen3_moe() {
  return {.name = "qwen3_moe",
          .hf = {"Qwen3MoeForCausalLM"},
          .gguf = {"qwen3moe", "qwen3vlmoe"},
          .text_types = {{"qwen3_moe"}, {"qwen3_vl_moe_text"}},
          .defaults = {.json = R"({"moe_intermediate_size": 768,
                                   "decoder_sparse_step": 1, "norm_topk_prob": false})",
                       .windows = false},
          .fields = qwen_moe_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            add_head_norms(spec);
            use_qwen_experts(view, spec, read_experts(view, spec, {.experts = 128, .chosen = 8}));
            return spec;
          }};
}

}  // namespace millrace::model::families
