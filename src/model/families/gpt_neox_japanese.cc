// GPT-NeoX Japanese (ABEJA): NeoX's layer with attention before the MLP, without biases but that of the last attention
// output.
#include "model/gpt_neox_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kNeoxJapaneseWidth{.json = {"intermediate_multiple_size"}, .neutral = "*"};

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
            name_gpt_neox(spec, "gpt_neox_japanese.");
            const auto last = std::to_string(config.n_layers - 1);
            const std::string dense = "gpt_neox_japanese.layers." + last + ".attention.dense";
            spec.names.renamed.emplace_back(dense + ".bias", dense + "_bias");
            return spec;
          }};
}

}  // namespace millrace::model::families
