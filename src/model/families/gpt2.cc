// GPT-2: LayerNorm, learned positions, biases everywhere, an ungated GELU MLP. Hugging Face keeps its weights as [in,
// out] and Q, K and V as one matrix; the head is tied.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

// Variants of the attention that change its arithmetic.
constexpr checkpoint::ConfigField kScaled{.json = {"scale_attn_weights"}, .neutral = "true"};
constexpr checkpoint::ConfigField kScaledByLayer{.json = {"scale_attn_by_inverse_layer_idx"}};
constexpr checkpoint::ConfigField kCrossAttention{.json = {"add_cross_attention"}};

void reject_variants(checkpoint::ConfigView& view) {
  if (!view.boolean(kScaled).value_or(true)) view.unsupported(kScaled, "false is not supported");
  for (const auto& field : {kScaledByLayer, kCrossAttention}) {
    if (view.boolean(field).value_or(false)) view.unsupported(field, "true is not supported");
  }
}

WeightNames hf_names() {
  return {.embedding = "transformer.wte",
          .positions = "transformer.wpe",
          .final_norm = "transformer.ln_f",
          .head = "lm_head",
          .ignored = {"*.attn.bias", "*.attn.masked_bias"}};
}

void name_hf_layer(LayerSpec& layer) {
  layer.get<AttentionParams>().names = {.norm = "transformer.h.{}.ln_1",
                                        .q = "",
                                        .k = "",
                                        .v = "",
                                        .qkv = "transformer.h.{}.attn.c_attn",
                                        .o = "transformer.h.{}.attn.c_proj",
                                        .q_norm = "",
                                        .k_norm = ""};
  layer.get<MlpParams>().names = {.norm = "transformer.h.{}.ln_2",
                                  .gate = "",
                                  .up = "transformer.h.{}.mlp.c_fc",
                                  .down = "transformer.h.{}.mlp.c_proj"};
}

}  // namespace

ModelFamily gpt2() {
  return {
      .name = "gpt2",
      .hf = {"GPT2LMHeadModel"},
      .gguf = {"gpt2"},
      .defaults = {.activation = "gelu_new",
                   .norm_eps = 1e-5,
                   .tied_head = true,
                   .attention_bias = true,
                   .mlp_bias = true,
                   .ffn_factor = 4,
                   .rotary = false},
      .fields = {kScaled, kScaledByLayer, kCrossAttention},
      .spec = [](checkpoint::ConfigView& view, const ModelConfig& config, checkpoint::Checkpoint::Container container) {
        reject_variants(view);
        ModelSpec spec = llama_spec(config, container);
        spec.norm = backend::NormKind::kLayer;
        spec.positions = PositionKind::kLearned;
        spec.biases = true;
        const bool hf = container != checkpoint::Checkpoint::Container::kGguf;
        if (hf) {
          spec.names = hf_names();
          spec.transposed_linears = true;
        }
        for (LayerSpec& layer : spec.layers) {
          if (hf) name_hf_layer(layer);
          auto& mlp = layer.get<MlpParams>();
          mlp.gated = false;
          mlp.activation = parse_activation(config.activation);
        }
        return spec;
      }};
}

}  // namespace millrace::model::families
