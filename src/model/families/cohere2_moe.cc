// Command with experts (Cohere, 2026): the layer of Command R7B with experts, whose output and that of shared ones are
// averaged; first layers without experts.
#include "model/cohere_spec.h"
#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kCohereMoeRms{.json = {"rms_norm_eps"}, .gguf = {"attention.layer_norm_rms_epsilon"}};
constexpr ConfigField kCohereMoeRouter{.json = {"expert_selection_fn"}, .neutral = "*"};
constexpr ConfigField kCohereMoeJoin{.json = {"shared_expert_combination_strategy"}, .neutral = "*"};
constexpr ConfigField kCohereMoeDenseWidth{.json = {"prefix_dense_intermediate_size"}, .neutral = "*"};
constexpr ConfigField kCohereMoeTypes{.json = {"layer_types"}, .neutral = "*"};
constexpr ConfigField kCohereMoePeriod{.json = {"sliding_window_pattern"}, .neutral = "*"};
constexpr ConfigField kCohereMoeDensePeriod{.json = {"prefix_dense_sliding_window_pattern"}, .neutral = "*"};

// The periods of windows of the layers without experts, and of those behind them.
ModelConfig cohere_moe_config(checkpoint::ConfigView& view, ModelConfig config) {
  const std::int64_t of_dense = view.integer(kCohereMoeDensePeriod, checkpoint::kCounts).value_or(1);
  const std::int64_t of_sparse = view.integer(kCohereMoePeriod, checkpoint::kCounts).value_or(4);
  if (view.gguf() || view.has(kCohereMoeTypes) || config.sliding_window == 0) return config;
  const std::int64_t dense = read_dense_layers(view);
  config.layer_uses_window.clear();
  for (std::int64_t i = 0; i < config.n_layers; ++i) {
    config.layer_uses_window.push_back(i < dense ? (i + 1) % of_dense != 0 : (i - dense + 1) % of_sparse != 0);
  }
  return config;
}

// Layers without a window do not rotate, but for those without experts if none of these has one.
void rotate_cohere_moe(checkpoint::ConfigView& view, ModelSpec& spec) {
  const bool dense_rotate = view.integer(kCohereMoeDensePeriod, checkpoint::kCounts).value_or(1) == 1;
  for (LayerSpec& layer : spec.layers) {
    const bool dense = layer.blocks.back().find<MlpParams>() != nullptr;
    auto& a = layer.get<AttentionParams>();
    if (a.window == 0 && !(dense && dense_rotate)) a.rope = -1;
  }
}

ExpertsParams cohere_moe_experts(checkpoint::ConfigView& view, const ModelSpec& spec) {
  const std::string router = view.text(kCohereMoeRouter).value_or(view.gguf() ? "sigmoid" : "softmax");
  if (router != "softmax" && router != "sigmoid") {
    view.unsupported(kCohereMoeRouter, "only softmax and sigmoid are supported");
  }
  return read_experts(view, spec, {.router = router == "sigmoid" ? "sigmoid_of_chosen" : "softmax_of_chosen"});
}

void average_cohere_experts(checkpoint::ConfigView& view, ModelSpec& spec) {
  const std::string join = view.text(kCohereMoeJoin).value_or("average");
  if (join != "average" && join != "sum") view.unsupported(kCohereMoeJoin, "only average and sum are supported");
  for (LayerSpec& layer : spec.layers) {
    for (BlockSpec& block : layer.blocks) {
      const auto* experts = block.find<ExpertsParams>();
      if (join == "average" && experts != nullptr && experts->shared_width > 0) block.output.scale = 0.5f;
    }
  }
}

}  // namespace

ModelFamily cohere2_moe() {
  std::vector<ConfigField> fields = moe_fields();
  fields.insert(fields.end(), {kLogitScale, kCohereMoeRms, kCohereMoeRouter, kCohereMoeJoin, kCohereMoeDenseWidth,
                               kCohereMoeTypes, kCohereMoePeriod, kCohereMoeDensePeriod});
  return {.name = "cohere2_moe",
          .hf = {"Cohere2MoeForCausalLM"},
          .gguf = {"cohere2moe"},
          .defaults = {.json = R"({"head_dim": 128, "logit_scale": 0.0625, "sliding_window": 4096})",
                       .norm_eps = 1e-5,
                       .tied_head = true,
                       .window_period = 4},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = cohere_spec(view, cohere_moe_config(view, config));
            if (view.has(kCohereMoeRms)) each_norm(spec, [](NormSpec& norm) { norm.kind = backend::NormKind::kRms; });
            const ExpertsParams experts = cohere_moe_experts(view, spec);
            if (const auto width = view.integer(kCohereMoeDenseWidth, checkpoint::kCounts)) {
              each_mlp(spec, [&](MlpParams& mlp) { mlp.width = *width; });
            }
            use_experts_as_read(view, spec, experts);
            rotate_cohere_moe(view, spec);
            average_cohere_experts(view, spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
