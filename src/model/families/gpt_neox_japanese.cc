// GPT-NeoX Japanese (ABEJA): NeoX's layer with attention before the MLP, without biases but that of the last attention
// output.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kNeoxJapaneseWidth{.json = {"intermediate_multiple_size"}, .neutral = "*"};

void name_gpt_neox_japanese(ModelSpec& spec) {
  const std::string model = "gpt_neox_japanese.", layer = model + "layers.{}.";
  spec.names.embedding = model + "embed_in";
  spec.names.final_norm = model + "final_layer_norm";
  spec.names.head = "embed_out";
  each_attention(spec, [&](AttentionParams& a) {
    a.fused = FusedQkv::kGrouped;
    a.names = {
        .norm = layer + "input_layernorm", .qkv = layer + "attention.query_key_value", .o = layer + "attention.dense"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "post_attention_layernorm",
                 .up = layer + "mlp.dense_h_to_4h",
                 .down = layer + "mlp.dense_4h_to_h"};
  });
  const std::string dense = model + "layers." + std::to_string(spec.layers.size() - 1) + ".attention.dense";
  spec.names.renamed.emplace_back(dense + ".bias", dense + "_bias");
}

}  // namespace

ModelFamily gpt_neox_japanese() {
  return {.name = "gpt_neox_japanese",
          .hf = {"GPTNeoXJapaneseForCausalLM"},
          .gguf = {},
          .defaults = {.activation = "gelu", .norm_eps = 1e-5, .tied_head = true, .ffn_factor = 4},
          .fields = {kNeoxJapaneseWidth},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            if (const auto factor = view.integer(kNeoxJapaneseWidth, {1, 1024}))
              config.intermediate_size = *factor * config.hidden_size;
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            each_mlp(spec, [](MlpParams& mlp) { mlp.gated = false; });
            name_gpt_neox_japanese(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
