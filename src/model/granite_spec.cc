#include "model/granite_spec.h"

namespace millrace::model {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kEmbedding{.json = {"embedding_multiplier"}, .gguf = {"embedding_scale"}, .neutral = "1.0"};
constexpr ConfigField kScore{.json = {"attention_multiplier"}, .gguf = {"attention.scale"}};
constexpr ConfigField kResidual{.json = {"residual_multiplier"}, .gguf = {"residual_scale"}, .neutral = "1.0"};
constexpr ConfigField kLogits{.json = {"logits_scaling"}, .gguf = {"logit_scale"}, .neutral = "1.0"};

}  // namespace

ModelSpec granite_spec(checkpoint::ConfigView& view, const ModelConfig& config) {
  ModelSpec spec = llama_spec(view, config);
  spec.embedding_scale = static_cast<float>(view.positive_number(kEmbedding).value_or(1.0));
  spec.logit_scale = static_cast<float>(1.0 / view.positive_number(kLogits).value_or(1.0));
  scale_residual(spec, static_cast<float>(view.positive_number(kResidual).value_or(1.0)));
  if (const auto scale = view.positive_number(kScore)) {
    each_attention(spec, [&](AttentionParams& a) { a.scale = static_cast<float>(*scale); });
  }
  return spec;
}

std::vector<checkpoint::ConfigField> granite_fields() { return {kEmbedding, kScore, kResidual, kLogits}; }

}  // namespace millrace::model
