// GLM-4.5 and its successors (arXiv:2508.06471): partial rotation, perhaps norms of heads, and experts chosen by
// sigmoids beside shared ones, behind first layers without.
#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kGlm4MoeHeadNorms{.json = {"use_qk_norm"}, .neutral = "*"};  // in GGUF tensors tell

}  // namespace

ModelFamily glm4_moe() {
  std::vector<checkpoint::ConfigField> fields = moe_fields();
  fields.push_back(kGlm4MoeHeadNorms);
  return {.name = "glm4_moe",
          .hf = {"Glm4MoeForCausalLM"},
          .gguf = {"glm4moe"},
          .defaults = {.json = R"({"moe_intermediate_size": 1408, "n_shared_experts": 1, "first_k_dense_replace": 1,
                                   "partial_rotary_factor": 0.5, "num_nextn_predict_layers": 1})",
                       .norm_eps = 1e-5},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec_without_mtp(view, config);
            const bool norms = view.boolean(kGlm4MoeHeadNorms).value_or(false);
            if (view.gguf() ? config.head_norms : norms) add_head_norms(spec);
            if (view.gguf()) each_mlp(spec, [](MlpParams& mlp) { mlp.names.norm = "blk.{}.post_attention_norm"; });
            use_experts_as_read(view, spec, read_experts(view, spec, kGlmExperts));
            return spec;
          }};
}

}  // namespace millrace::model::families
