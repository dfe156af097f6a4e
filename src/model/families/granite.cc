// Granite 3 (IBM): Llama's layer with factors for embeddings, scores, what blocks add, and logits.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kEmbedding{.json = {"embedding_multiplier"}, .gguf = {"embedding_scale"}, .neutral = "1.0"};
constexpr ConfigField kScore{.json = {"attention_multiplier"}, .gguf = {"attention.scale"}};
constexpr ConfigField kResidual{.json = {"residual_multiplier"}, .gguf = {"residual_scale"}, .neutral = "1.0"};
constexpr ConfigField kLogits{.json = {"logits_scaling"}, .gguf = {"logit_scale"}, .neutral = "1.0"};

}  // namespace

ModelFamily granite() {
  return {.name = "granite",
          .hf = {"GraniteForCausalLM"},
          .gguf = {"granite"},
          .defaults = {.json = R"({"attention_multiplier": 1.0})"},
          .fields = {kEmbedding, kScore, kResidual, kLogits},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            spec.embedding_scale = static_cast<float>(view.positive_number(kEmbedding).value_or(1.0));
            spec.logit_scale = static_cast<float>(1.0 / view.positive_number(kLogits).value_or(1.0));
            scale_residual(spec, static_cast<float>(view.positive_number(kResidual).value_or(1.0)));
            if (const auto scale = view.positive_number(kScore)) {
              each_attention(spec, [&](AttentionParams& a) { a.scale = static_cast<float>(*scale); });
            }
            return spec;
          }};
}

}  // namespace millrace::model::families
