// AFMoE (Arcee, Trinity): norms on both sides of each block and of heads, a gate for each channel that attention gives,
// a window in three of four layers, the others do not rotate; experts chosen by sigmoids beside shared ones.
#include <cmath>

#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kAfmoeTypes{.json = {"layer_types"}, .neutral = "*"};
constexpr ConfigField kAfmoePeriod{.json = {"global_attn_every_n_layers"}, .neutral = "*"};
constexpr ConfigField kAfmoeScaled{.json = {"mup_enabled"}};

ModelConfig afmoe_config(checkpoint::ConfigView& view, ModelConfig config) {
  const auto period = view.integer(kAfmoePeriod, checkpoint::kCounts);
  if (!period || view.has(kAfmoeTypes)) return config;
  config.layer_uses_window.clear();
  for (std::int64_t i = 0; i < config.n_layers; ++i) config.layer_uses_window.push_back((i + 1) % *period != 0);
  return config;
}

void name_afmoe(ModelSpec& spec, ExpertsParams& experts) {
  experts.names.router = "model.layers.{}.mlp.router.gate";
  each_mlp(spec, [](MlpParams& mlp) { mlp.names.norm = "model.layers.{}.pre_mlp_layernorm"; });
}

}  // namespace

ModelFamily afmoe() {
  std::vector<ConfigField> fields = moe_fields();
  fields.insert(fields.end(), {kAfmoeTypes, kAfmoePeriod, kAfmoeScaled});
  return {
      .name = "afmoe",
      .hf = {"AfmoeForCausalLM"},
      .gguf = {"afmoe"},
      .defaults = {.json = R"({"head_dim": 128, "sliding_window": 1024, "moe_intermediate_size": 1408,
                                   "num_shared_experts": 2, "num_dense_layers": 1})",
                   .norm_eps = 1e-5,
                   .window_period = 4,
                   .code_is_known = true},
      .fields = fields,
      .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
        ModelSpec spec = llama_spec_without_mtp(view, afmoe_config(view, config));
        add_post_norms(spec, view.gguf(), "post_attention_layernorm", "post_mlp_layernorm");
        add_head_norms(spec);
        each_attention(spec, [](AttentionParams& a) {
          a.gate = OutputGate::kChannels;
          if (a.window == 0) a.rope = -1;
        });
        if (view.gguf() || view.boolean(kAfmoeScaled).value_or(false)) {
          spec.embedding_scale = std::sqrt(static_cast<float>(spec.hidden_size));
        }
        const MoeDefaults defaults{
            .router = "sigmoid", .experts = 64, .chosen = 6, .floor = kSigmoidFloor, .choice_bias = "mlp.expert_bias"};
        ExpertsParams experts = read_experts(view, spec, defaults);
        if (!view.gguf()) name_afmoe(spec, experts);
        use_experts_as_read(view, spec, experts);
        return spec;
      }};
}

}  // namespace millrace::model::families
