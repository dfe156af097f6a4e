// OLMoE (arXiv:2409.02060): OLMo's layers with RMSNorm, norms of all queries and all keys together, and experts.
#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kOlmoeClip{.json = {"clip_qkv"}, .gguf = {"attention.clamp_kqv"}};

}  // namespace

ModelFamily olmoe() {
  std::vector<checkpoint::ConfigField> fields = moe_fields();
  fields.push_back(kOlmoeClip);
  return {.name = "olmoe",
          .hf = {"OlmoeForCausalLM"},
          .gguf = {"olmoe"},
          .defaults = {.json = R"({"norm_topk_prob": false})", .norm_eps = 1e-5},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            add_head_norms(spec);
            const double clip = view.positive_number(kOlmoeClip).value_or(0.0);
            each_attention(spec, [&](AttentionParams& a) {
              a.q_k_norm->over_row = true;
              a.clip = static_cast<float>(clip);
            });
            use_experts(spec, read_experts(view, spec, {.experts = 64, .chosen = 8, .normalised = false}));
            return spec;
          }};
}

}  // namespace millrace::model::families
