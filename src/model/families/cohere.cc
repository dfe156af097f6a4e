// Command R (Cohere): see cohere_spec(); Command R+ has layer norms of heads, each with weights of its own.
#include "model/cohere_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kCohereHeadNorm{.json = {"use_qk_norm"}, .neutral = "*"};  // in GGUF the tensors tell

}  // namespace

ModelFamily cohere() {
  return {
      .name = "cohere",
      .hf = {"CohereForCausalLM"},
      .gguf = {"command-r"},
      .defaults = {.json = R"({"logit_scale": 0.0625, "rope_theta": 500000.0})", .norm_eps = 1e-5, .tied_head = true},
      .fields = {kLogitScale, kCohereHeadNorm},
      .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
        ModelSpec spec = cohere_spec(view, config);
        if (!view.boolean(kCohereHeadNorm).value_or(config.head_norms)) return spec;
        add_head_norms(spec);
        each_attention(spec, [](AttentionParams& a) { a.q_k_norm->own_weights = true; });
        return spec;
      }};
}

}  // namespace millrace::model::families
