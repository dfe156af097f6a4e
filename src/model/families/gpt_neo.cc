// GPT-Neo (EleutherAI): GPT-2's layer with Q, K and V apart, scores that are not scaled, and a window in every other
// layer.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kWindow{.json = {"window_size"}, .neutral = "*"};
constexpr ConfigField kKinds{.json = {"attention_types"}, .neutral = "*"};    // [[["global", "local"], 12]]
constexpr ConfigField kLayers{.json = {"attention_layers"}, .neutral = "*"};  // one entry a layer

// Which layers are local.
std::vector<bool> local_layers(checkpoint::ConfigView& view, std::int64_t n_layers) {
  std::vector<bool> local;
  const auto add = [&](const nlohmann::json& kind) {
    if (kind != "global" && kind != "local") view.bad_value(kKinds, "expected global or local");
    local.push_back(kind == "local");
  };
  if (const nlohmann::json* kinds = view.json(kKinds); kinds != nullptr && kinds->is_array()) {
    for (const nlohmann::json& entry : *kinds) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_array()) view.bad_value(kKinds, "expected pairs");
      const auto times = checkpoint::whole_number(entry[1]).value_or(0);
      if (times < 1 || times > n_layers) view.bad_value(kKinds, fmt::format("expected 1 to {} times", n_layers));
      for (std::int64_t i = 0; i < times; ++i) {
        for (const nlohmann::json& kind : entry[0]) add(kind);
      }
    }
  } else if (const nlohmann::json* layers = view.json(kLayers); layers != nullptr && layers->is_array()) {
    for (const nlohmann::json& kind : *layers) add(kind);
  } else {
    for (std::int64_t i = 0; i < n_layers; ++i) local.push_back(i % 2 == 1);
  }
  view.has(kLayers);
  if (std::ssize(local) != n_layers) {
    view.bad_value(kKinds, fmt::format("{} entries for {} layers", local.size(), n_layers));
  }
  return local;
}

void name_gpt_neo(ModelSpec& spec) {
  const std::string layer = "transformer.h.{}.";
  spec.names.embedding = "transformer.wte";
  spec.names.positions = "transformer.wpe";
  spec.names.final_norm = "transformer.ln_f";
  spec.names.ignored = {"*.attention.bias", "*.attention.masked_bias"};
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "ln_1",
               .q = layer + "attn.attention.q_proj",
               .k = layer + "attn.attention.k_proj",
               .v = layer + "attn.attention.v_proj",
               .o = layer + "attn.attention.out_proj"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "ln_2", .up = layer + "mlp.c_fc", .down = layer + "mlp.c_proj"};
  });
}

}  // namespace

ModelFamily gpt_neo() {
  return {.name = "gpt_neo",
          .hf = {"GPTNeoForCausalLM"},
          .gguf = {},
          .defaults = {.activation = "gelu_new",
                       .json = R"({"window_size": 256})",
                       .norm_eps = 1e-5,
                       .tied_head = true,
                       .ffn_factor = 4,
                       .rotary = false},
          .fields = {kWindow, kKinds, kLayers},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            use_learned_positions(spec);
            name_gpt_neo(spec);
            each_mlp(spec, [](MlpParams& mlp) { mlp.gated = false; });
            const std::int64_t window = view.required_integer(kWindow, checkpoint::kCounts);
            const std::vector<bool> local = local_layers(view, config.n_layers);
            for (std::size_t i = 0; i < local.size(); ++i) {
              auto& a = spec.layers[i].get<AttentionParams>();
              a.scale = 1.0f;
              a.window = local[i] ? window : 0;
            }
            return spec;
          }};
}

}  // namespace millrace::model::families
