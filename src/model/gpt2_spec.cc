#include "model/gpt2_spec.h"

namespace millrace::model {
namespace {

// Variants of the attention that change its arithmetic.
constexpr checkpoint::ConfigField kScaled{.json = {"scale_attn_weights"}, .neutral = "true"};
constexpr checkpoint::ConfigField kScaledByLayer{.json = {"scale_attn_by_inverse_layer_idx"}};
constexpr checkpoint::ConfigField kCrossAttention{.json = {"add_cross_attention"}};

}  // namespace

void reject_gpt2_variants(checkpoint::ConfigView& view) {
  if (!view.boolean(kScaled).value_or(true)) view.unsupported(kScaled, "false is not supported");
  for (const auto& field : {kScaledByLayer, kCrossAttention}) {
    if (view.boolean(field).value_or(false)) view.unsupported(field, "true is not supported");
  }
}

ConfigDefaults gpt2_defaults(std::string_view activation) {
  return {.activation = activation,
          .norm_eps = 1e-5,
          .tied_head = true,
          .attention_bias = true,
          .mlp_bias = true,
          .ffn_factor = 4,
          .rotary = false};
}

std::vector<checkpoint::ConfigField> gpt2_fields() { return {kScaled, kScaledByLayer, kCrossAttention}; }

namespace {

WeightNames gpt2_names() {
  return {.embedding = "transformer.wte",
          .positions = "transformer.wpe",
          .final_norm = "transformer.ln_f",
          .head = "lm_head",
          .embedding_norm = "",
          .project_in = "",
          .project_out = "",
          .ignored = {"*.attn.bias", "*.attn.masked_bias"},
          .renamed = {}};
}

void name_gpt2_layer(LayerSpec& layer) {
  layer.get<AttentionParams>().names = {.norm = "transformer.h.{}.ln_1",
                                        .q = "",
                                        .k = "",
                                        .v = "",
                                        .qkv = "transformer.h.{}.attn.c_attn",
                                        .o = "transformer.h.{}.attn.c_proj",
                                        .q_norm = "",
                                        .k_norm = "",
                                        .gate = "",
                                        .sub_norm = "",
                                        .sinks = ""};
  layer.get<MlpParams>().names = {.norm = "transformer.h.{}.ln_2",
                                  .gate = "",
                                  .up = "transformer.h.{}.mlp.c_fc",
                                  .down = "transformer.h.{}.mlp.c_proj",
                                  .gate_up = "",
                                  .sub_norm = "",
                                  .xielu = ""};
}

}  // namespace

ModelSpec gpt2_spec(checkpoint::ConfigView& view, const ModelConfig& config) {
  ModelSpec spec = llama_spec(view, config);
  use_layer_norms(spec, true);
  use_learned_positions(spec);
  spec.biases = true;
  each_mlp(spec, [](MlpParams& mlp) { mlp.gated = false; });
  if (view.gguf()) return spec;
  spec.names = gpt2_names();
  for (LayerSpec& layer : spec.layers) name_gpt2_layer(layer);
  return spec;
}

}  // namespace millrace::model
