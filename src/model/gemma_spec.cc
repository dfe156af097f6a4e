#include "model/gemma_spec.h"

#include <cmath>

namespace millrace::model {
namespace {

constexpr checkpoint::ConfigField kScale{.json = {"query_pre_attn_scalar"}};
constexpr checkpoint::ConfigField kScoreCap{.json = {"attn_logit_softcapping"}, .gguf = {"attn_logit_softcapping"}};
constexpr checkpoint::ConfigField kLogitCap{.json = {"final_logit_softcapping"}, .gguf = {"final_logit_softcapping"}};
constexpr checkpoint::ConfigField kBothWays{.json = {"use_bidirectional_attention"}};

}  // namespace

ModelSpec gemma_spec(checkpoint::ConfigView& view, const ModelConfig& config) {
  if (view.boolean(kBothWays).value_or(false)) view.unsupported(kBothWays, "true is not supported");
  ModelSpec spec = llama_spec(view, config);
  spec.embedding_scale = std::sqrt(static_cast<float>(spec.hidden_size));
  use_offset_norms(spec, view.gguf());
  // Files of the first generation say gelu and mean its approximation.
  each_mlp(spec, [](MlpParams& mlp) { mlp.activation = backend::Activation::kGeluTanh; });
  return spec;
}

ModelSpec gemma2_spec(checkpoint::ConfigView& view, const ModelConfig& config, std::int64_t large_layers) {
  ModelSpec spec = gemma_spec(view, config);
  add_post_norms(spec, view.gguf(), "post_attention_layernorm", "post_feedforward_layernorm");
  if (!view.gguf()) {
    each_mlp(spec, [](MlpParams& mlp) { mlp.names.norm = "model.layers.{}.pre_feedforward_layernorm"; });
  }
  const std::int64_t of_gguf = config.n_layers == large_layers ? config.hidden_size / config.n_heads : config.head_dim;
  const double divisor = view.gguf() ? static_cast<double>(of_gguf) : view.positive_number(kScale).value_or(256.0);
  const double cap = view.positive_number(kScoreCap).value_or(0.0);
  each_attention(spec, [&](AttentionParams& a) {
    a.scale = static_cast<float>(1.0 / std::sqrt(divisor));
    a.softcap = static_cast<float>(cap);
  });
  spec.logit_softcap = static_cast<float>(view.positive_number(kLogitCap).value_or(0.0));
  return spec;
}

std::vector<checkpoint::ConfigField> gemma2_fields() { return {kScale, kScoreCap, kLogitCap, kBothWays}; }

}  // namespace millrace::model
