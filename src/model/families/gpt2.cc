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
          .embedding_norm = "",
          .project_in = "",
          .project_out = "",
          .ignored = {"*.attn.bias", "*.attn.masked_bias"},
          .renamed = {}};
}

void name_hf_layer(LayerSpec& layer) {
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
      .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
        reject_variants(view);
        ModelSpec spec = llama_spec(view, config);
        use_layer_norms(spec, true);
        use_learned_positions(spec);
        spec.biases = true;
        spec.transposed_linears = !view.gguf();
        each_mlp(spec, [](MlpParams& mlp) { mlp.gated = false; });
        if (view.gguf()) return spec;
        spec.names = hf_names();
        for (LayerSpec& layer : spec.layers) name_hf_layer(layer);
        return spec;
      }};
}

}  // namespace millrace::model::families
