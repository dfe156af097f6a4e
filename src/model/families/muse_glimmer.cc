// Muse Glimmer (Meta): norms on both sides of each block, of heads without weights, and of embeddings; a gate for each
// channel that attention gives; a window in three of four layers, the others do not rotate.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kQueryFactor{.json = {"qk_scale_factor"}};
constexpr ConfigField kPostEps{.json = {"post_norm_eps"}};
constexpr ConfigField kLogitFactor{.json = {"output_multiplier"}, .gguf = {"logit_scale"}};
constexpr ConfigField kLogitCap{.json = {"final_logit_softcapping"}, .gguf = {"final_logit_softcapping"}};
constexpr ConfigField kMuseGlimmerThetas{.json = {"layer_rope_theta"}, .neutral = "*"};

// In GGUF the layers without a window are those that do not rotate.
std::vector<double> thetas_of(checkpoint::ConfigView& view, const ModelConfig& config) {
  if (const auto read = view.numbers(kMuseGlimmerThetas)) return *read;
  std::vector<double> thetas;
  for (std::int64_t i = 0; i < config.n_layers; ++i) {
    const bool by_window = view.gguf() && !config.layer_uses_window.empty();
    const bool rotates =
        by_window ? config.layer_uses_window[static_cast<std::size_t>(i)] : (config.n_layers - i - 1) % 4 != 0;
    thetas.push_back(rotates ? config.rope.theta : 0.0);
  }
  return thetas;
}

void set_norms(ModelSpec& spec, checkpoint::ConfigView& view) {
  const bool gguf = view.gguf();
  add_post_norms(spec, gguf, "post_attention_layernorm", "post_feedforward_layernorm");
  use_offset_norms(spec, gguf);
  spec.final_norm.offset = spec.embedding_norm.offset = 0.0f;
  spec.embedding_norm.weight = false;
  spec.names.embedding_norm = spec.names.embedding + ".norm";
  const auto post_eps = static_cast<float>(view.positive_number(kPostEps).value_or(1e-8));
  for (LayerSpec& layer : spec.layers) {
    for (BlockSpec& block : layer.blocks) block.output.norm.eps = post_eps;
  }
  add_head_norms(spec);
  const double factor = view.positive_number(kQueryFactor).value_or(1.0);  // GGUF has it in the weights of the norm
  each_attention(spec, [&](AttentionParams& a) {
    a.q_k_norm->norm.offset = 0.0f;
    a.q_k_norm->norm.weight = gguf;
    a.q_k_norm->query_factor = gguf ? 1.0f : static_cast<float>(factor);
  });
  if (!gguf) each_mlp(spec, [](MlpParams& mlp) { mlp.names.norm = "model.layers.{}.pre_feedforward_layernorm"; });
}

}  // namespace

ModelFamily muse_glimmer() {
  return {.name = "muse_glimmer",
          .hf = {"MuseGlimmerForConditionalGeneration", "MuseGlimmerForCausalLM"},
          .gguf = {"muse-glimmer"},
          .text_types = {{"muse_glimmer_text"}},
          .defaults = {.json = R"({"qk_scale_factor": 3.87, "output_multiplier": 0.19611613513818404,
                                   "final_logit_softcapping": 20.0, "sliding_window": 2048})",
                       .window_period = 4},
          .fields = {kQueryFactor, kPostEps, kLogitFactor, kLogitCap, kMuseGlimmerThetas},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            set_norms(spec, view);
            each_attention(spec, [](AttentionParams& a) { a.gate = OutputGate::kChannels; });
            rotate_layers_by(spec, thetas_of(view, config));
            spec.logit_scale = static_cast<float>(view.positive_number(kLogitFactor).value_or(1.0));
            spec.logit_softcap = static_cast<float>(view.positive_number(kLogitCap).value_or(0.0));
            return spec;
          }};
}

}  // namespace millrace::model::families
