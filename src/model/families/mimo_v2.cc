// MiMo V2 Flash (arXiv:2601.02780): values narrower than keys and scaled, partial rotation; layers with a window have
// more key/value heads, sinks, and a base of their own; experts chosen by sigmoids.
#include <algorithm>

#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kMimoV2Types{.json = {"layer_types"}, .neutral = "*"};
constexpr ConfigField kMimoV2Pattern{.json = {"hybrid_layer_pattern"}};  // 1: has a window
constexpr ConfigField kMimoV2Before{.json = {"sliding_window_size"}, .neutral = "*"};
constexpr ConfigField kMimoV2Sparse{.json = {"moe_layer_freq"}, .neutral = "1"};  // 1: has experts
constexpr ConfigField kMimoV2ValueDim{.json = {"v_head_dim"}};
constexpr ConfigField kMimoV2ValueScale{.json = {"attention_value_scale"}, .gguf = {"attention.value_scale"}};
constexpr ConfigField kMimoV2Sinks{.json = {"add_swa_attention_sink_bias"}, .neutral = "*"};
constexpr ConfigField kMimoV2FullSinks{.json = {"add_full_attention_sink_bias"}};
constexpr ConfigField kMimoV2KvHeads{.json = {"swa_num_key_value_heads"}, .neutral = "*"};
constexpr ConfigField kMimoV2Heads{.json = {"swa_num_attention_heads"}, .neutral = "*"};
constexpr ConfigField kMimoV2KeyDim{.json = {"swa_head_dim"}, .neutral = "*"};
constexpr ConfigField kMimoV2WindowValueDim{.json = {"swa_v_head_dim"}, .neutral = "*"};
constexpr ConfigField kMimoV2Chunk{.json = {"attention_chunk_size"}};  // of another kind of attention

std::vector<bool> mimo_v2_windows(checkpoint::ConfigView& view, const ModelConfig& config) {
  const auto pattern = view.integers(kMimoV2Pattern, config.n_layers, {0, 1});
  std::vector<bool> windows;
  for (std::int64_t i = 0; i < config.n_layers; ++i) {
    windows.push_back(pattern ? (*pattern)[static_cast<std::size_t>(i)] == 1 : i > 0 && (i + 1) % 6 != 0);
  }
  return windows;
}

// What config.json says in words of its own.
void read_mimo_v2(checkpoint::ConfigView& view, ModelConfig& config) {
  view.has(kMimoV2Chunk);
  config.value_dim = view.integer(kMimoV2ValueDim, checkpoint::kCounts).value_or(config.value_dim);
  const auto before = view.integer(kMimoV2Before, checkpoint::kCounts);
  if (before) config.sliding_window = *before + 1;  // it does not count the token itself
  if (!view.has(kMimoV2Types)) config.layer_uses_window = mimo_v2_windows(view, config);
  const auto expect = [&](const ConfigField& field, std::int64_t size) {
    if (view.integer(field).value_or(size) != size) view.unsupported(field, "it must be the size of other layers");
  };
  expect(kMimoV2Heads, config.n_heads);
  expect(kMimoV2KeyDim, config.head_dim);
  expect(kMimoV2WindowValueDim, config.value_dim);
  const std::int64_t twice = std::min(2 * config.n_kv_heads, config.n_heads);
  const std::int64_t windowed = view.integer(kMimoV2KvHeads, checkpoint::kCounts).value_or(twice);
  config.layer_kv_heads.clear();
  for (const bool window : config.layer_uses_window) {
    config.layer_kv_heads.push_back(window ? windowed : config.n_kv_heads);
  }
}

void set_mimo_v2_attention(checkpoint::ConfigView& view, ModelSpec& spec) {
  const double scale = view.positive_number(kMimoV2ValueScale).value_or(1.0);
  const bool sinks = view.boolean(kMimoV2Sinks).value_or(true);
  const bool full_sinks = view.boolean(kMimoV2FullSinks).value_or(false);
  each_attention(spec, [&](AttentionParams& a) {
    a.value_scale = static_cast<float>(scale);
    a.sinks = a.window > 0 ? sinks : full_sinks;
    if (!view.gguf()) a.names.sinks = "model.layers.{}.self_attn.attention_sink_bias";
  });
}

}  // namespace

ModelFamily mimo_v2() {
  std::vector<ConfigField> fields = moe_fields();
  fields.insert(fields.end(), {kMimoV2Types, kMimoV2Pattern, kMimoV2Before, kMimoV2Sparse, kMimoV2ValueDim,
                               kMimoV2ValueScale, kMimoV2Sinks, kMimoV2FullSinks, kMimoV2KvHeads, kMimoV2Heads,
                               kMimoV2KeyDim, kMimoV2WindowValueDim, kMimoV2Chunk});
  return {.name = "mimo_v2_flash",
          .hf = {"MiMoV2FlashForCausalLM"},
          .gguf = {"mimo2"},
          .defaults = {.json = R"({"partial_rotary_factor": 0.334, "rope_theta": 5000000.0, "swa_rope_theta": 10000.0,
                                   "sliding_window": 129, "moe_intermediate_size": 2048,
                                   "attention_value_scale": 0.707})",
                       .norm_eps = 1e-5,
                       .code_is_known = true},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            if (!view.gguf()) read_mimo_v2(view, config);
            ModelSpec spec = llama_spec_without_mtp(view, config);
            spec.names.ignored.emplace_back("model.mtp.*");
            set_mimo_v2_attention(view, spec);
            const MoeDefaults defaults{.router = "sigmoid",
                                       .experts = 256,
                                       .chosen = 8,
                                       .floor = kSigmoidFloor,
                                       .choice_bias = "mlp.gate.e_score_correction_bias"};
            const ExpertsParams experts = read_experts(view, spec, defaults);
            const auto sparse = view.integers(kMimoV2Sparse, config.n_layers, {0, 1});
            if (!sparse) {
              use_experts_as_read(view, spec, experts, 1);
            } else {
              use_experts(spec, experts, [&](std::int64_t i) { return (*sparse)[static_cast<std::size_t>(i)] == 1; });
            }
            return spec;
          }};
}

}  // namespace millrace::model::families
