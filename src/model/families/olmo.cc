// OLMo 1 (arXiv:2402.00838): layer norms without weights, queries, keys and values that are clipped.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kOlmoClip{.json = {"clip_qkv"}, .gguf = {"attention.clamp_kqv"}};

}  // namespace

ModelFamily olmo() {
  return {.name = "olmo",
          .hf = {"OlmoForCausalLM"},
          .gguf = {"olmo"},
          .defaults = {.norm_eps = 1e-5},
          .fields = {kOlmoClip},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            use_layer_norms(spec, false);
            each_norm(spec, [](NormSpec& norm) {
              norm.eps = 1e-5f;
              norm.weight = false;
            });
            const double clip = view.positive_number(kOlmoClip).value_or(0.0);
            each_attention(spec, [&](AttentionParams& a) { a.clip = static_cast<float>(clip); });
            return spec;
          }};
}

}  // namespace millrace::model::families
