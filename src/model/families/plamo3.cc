// PLaMo 3 (Preferred Networks and NICT, 2025): Gemma 3's layer with SiLU, fused tensors, and offsets of their own for
// the norms behind the blocks.
#include <cmath>

#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kPlamo3Window{.json = {"window_size"}, .neutral = "*"};
constexpr ConfigField kPlamo3Period{.json = {"sliding_window_pattern"}, .neutral = "*"};
constexpr ConfigField kPlamo3Windows{.json = {"interleaved_sliding_window"}, .neutral = "*"};  // follows from the two
constexpr ConfigField kPlamo3Factor{.json = {"rope_scaling_factor"}, .neutral = "*"};          // of YaRN
constexpr ConfigField kPlamo3Context{.json = {"initial_context_length"}, .neutral = "*"};
constexpr ConfigField kPlamo3Scaled{.json = {"scale_embedding"}};
constexpr float kBehindMixer = 0.2f, kBehindMlp = 0.0894427191f;  // 1/5 and 1/5^1.5, added to the stored weights

void read_plamo3(checkpoint::ConfigView& view, ModelConfig& config) {
  if (config.activation == "swiglu") config.activation = "silu";
  const std::int64_t window = view.required_integer(kPlamo3Window, checkpoint::kCounts);
  if (config.sliding_window == 0) config.sliding_window = window;
  // The code of files without this field counts only the tokens before a token, not the token itself.
  if (!view.has(kPlamo3Factor)) ++config.sliding_window;
  const std::int64_t period = view.required_integer(kPlamo3Period, checkpoint::kCounts);
  view.has(kPlamo3Windows);
  config.layer_uses_window.clear();
  for (std::int64_t i = 0; i < config.n_layers; ++i) config.layer_uses_window.push_back((i + 1) % period != 0);
  const double factor = view.positive_number(kPlamo3Factor).value_or(1.0);
  if (factor == 1.0) return;
  config.rope.scaling.kind = RopeScaling::Kind::kYarn;
  config.rope.scaling.factor = factor;
  config.rope.scaling.original_context = view.required_integer(kPlamo3Context, checkpoint::kCounts);
}

// The norms behind blocks lack the ".weight" that all other tensors have.
void name_plamo3_gguf(ModelSpec& spec) {
  each_mlp(spec, [](MlpParams& mlp) { mlp.names.gate_up = "blk.{}.ffn_up"; });
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    for (const char* norm : {"post_attention_norm", "post_ffw_norm"}) {
      const std::string name = fmt::format("blk.{}.{}", i, norm);
      spec.names.renamed.emplace_back(name + ".weight", name);
    }
  }
}

void name_plamo3(ModelSpec& spec, bool gguf) {
  add_post_norms(spec, gguf, "post_mixer_norm", "post_mlp_norm");
  use_offset_norms(spec, gguf);
  if (gguf) return name_plamo3_gguf(spec);
  const std::string layer = "model.layers.{}.";
  spec.names.renamed.emplace_back("model.layers.", "model.layers.layers.");
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "pre_mixer_norm",
               .qkv = layer + "mixer.qkv_proj",
               .o = layer + "mixer.o_proj",
               .q_norm = layer + "mixer.q_norm",
               .k_norm = layer + "mixer.k_norm"};
  });
  each_mlp(spec, [&](MlpParams& mlp) { mlp.names.norm = layer + "pre_mlp_norm"; });
  for (LayerSpec& one : spec.layers) {
    one.block<AttentionParams>().output.norm.offset = kBehindMixer;
    one.block<MlpParams>().output.norm.offset = kBehindMlp;
  }
}

}  // namespace

ModelFamily plamo3() {
  return {.name = "plamo3",
          .hf = {"Plamo3ForCausalLM", "PLaMo3ForCausalLM"},
          .gguf = {"plamo3"},
          .defaults = {.json = R"({"window_size": 2048, "sliding_window_pattern": 8, "rope_theta": 1000000.0,
                                   "rope_local_theta": 10000.0})",
                       .tied_head = true,
                       .window_period = 8,
                       .code_is_known = true},
          .fields = {kPlamo3Window, kPlamo3Period, kPlamo3Windows, kPlamo3Factor, kPlamo3Context, kPlamo3Scaled},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            if (!view.gguf()) read_plamo3(view, config);
            config.rope.scaling.truncate = false;  // which GGUF cannot say
            if (!config.sliding_rope)
              config.sliding_rope = RopeConfig{.theta = 10000.0, .dim = config.rope.dim, .scaling = {}};
            ModelSpec spec = llama_spec(view, config);
            add_head_norms(spec);
            name_plamo3(spec, view.gguf());
            if (view.boolean(kPlamo3Scaled).value_or(false)) {
              spec.embedding_scale = std::sqrt(static_cast<float>(spec.hidden_size));
            }
            return spec;
          }};
}

}  // namespace millrace::model::families
