#include "model/moe_spec.h"

#include <algorithm>

namespace millrace::model {
namespace {

using checkpoint::ConfigField;

// Without experts the others say nothing.
constexpr ConfigField kExperts{.json = {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"},
                               .gguf = {"expert_count"}};
constexpr ConfigField kChosen{.json = {"num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k"},
                              .gguf = {"expert_used_count"},
                              .neutral = "*"};
constexpr ConfigField kExpertWidth{
    .json = {"moe_intermediate_size"}, .gguf = {"expert_feed_forward_length"}, .neutral = "*"};
constexpr ConfigField kNormalised{
    .json = {"norm_topk_prob", "route_norm"}, .gguf = {"expert_weights_norm"}, .neutral = "*"};
constexpr ConfigField kWeightScale{
    .json = {"routed_scaling_factor", "route_scale", "moe_routed_scaling_factor", "router_scaling_factor"},
    .gguf = {"expert_weights_scale"},
    .neutral = "*"};
constexpr ConfigField kGroups{.json = {"n_group"}, .gguf = {"expert_group_count"}, .neutral = "*"};
constexpr ConfigField kChosenGroups{.json = {"topk_group"}, .gguf = {"expert_group_used_count"}, .neutral = "*"};
constexpr ConfigField kSharedExperts{.json = {"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"},
                                     .gguf = {"expert_shared_count"},
                                     .neutral = "*"};
constexpr ConfigField kSharedExpertWidth{
    .json = {"shared_expert_intermediate_size"}, .gguf = {"expert_shared_feed_forward_length"}, .neutral = "*"};
constexpr ConfigField kDenseLayers{
    .json = {"first_k_dense_replace", "num_dense_layers"}, .gguf = {"leading_dense_block_count"}, .neutral = "*"};
constexpr ConfigField kMlpLayerTypes{.json = {"mlp_layer_types"}, .neutral = "*"};
constexpr ConfigField kMtpLayers{
    .json = {"num_nextn_predict_layers"}, .gguf = {"nextn_predict_layers"}, .neutral = "*"};
constexpr ConfigField kGating{.gguf = {"expert_gating_func"}, .neutral = "*"};

// llama.cpp's numbers of routers; files of before do without.
std::string_view router_of(checkpoint::ConfigView& view, std::string_view of_family) {
  constexpr std::string_view kRouters[] = {"softmax", "sigmoid", "softmax_of_chosen"};
  const auto number = view.integer(kGating, {0, 4});
  if (!number || *number == 0 || of_family == "sparsemixer") return of_family;
  if (*number == 4) view.unsupported(kGating, "the square root of softplus (4) is not supported");
  const std::string_view router = kRouters[*number - 1];
  // The same weights, if divided by their sum.
  const bool same = router == "softmax" && of_family == "softmax_of_chosen";
  const bool chosen_first = router == "sigmoid" && of_family == "sigmoid_of_chosen";
  return same || chosen_first ? of_family : router;
}

const MlpParams& mlp_of(const LayerSpec& layer) {
  const auto is_mlp = [](const BlockSpec& block) { return block.kind() == MlpParams::kKind; };
  const auto found = std::ranges::find_if(layer.blocks, is_mlp);
  CHECK(found != layer.blocks.end());
  return found->as<MlpParams>();
}

}  // namespace

std::vector<ConfigField> moe_fields() {
  return {kExperts,       kChosen,       kExpertWidth,   kNormalised,        kWeightScale,
          kGroups,        kChosenGroups, kSharedExperts, kSharedExpertWidth, kDenseLayers,
          kMlpLayerTypes, kMtpLayers,    kGating};
}

bool has_experts(checkpoint::ConfigView& view) {
  return view.integer(kExperts, {0, checkpoint::kMaxCount}).value_or(0) > 0;
}

void refuse_experts(checkpoint::ConfigView& view) {
  if (view.integer(kExperts, {0, checkpoint::kMaxCount}).value_or(0) > 1) {
    view.unsupported(kExperts, "experts are not supported in this family");
  }
}

ExpertsParams read_experts(checkpoint::ConfigView& view, const ModelSpec& spec, const MoeDefaults& defaults) {
  const MlpParams& mlp = mlp_of(spec.layers.front());
  ExpertsParams e;
  e.gated = mlp.gated;
  e.activation = mlp.activation;
  e.norm = mlp.norm;
  e.width = view.integer(kExpertWidth, checkpoint::kCounts).value_or(mlp.width);
  const std::int64_t shared = view.integer(kSharedExperts, {0, checkpoint::kMaxCount}).value_or(0);
  e.shared_width = view.integer(kSharedExpertWidth, {0, checkpoint::kMaxCount}).value_or(shared * e.width);
  e.routing.router = router_of(view, defaults.router);
  const auto count = [&](const ConfigField& field, std::int64_t otherwise) {
    if (view.gguf()) return view.required_integer(field, checkpoint::kCounts);
    return view.integer(field, checkpoint::kCounts).value_or(otherwise);
  };
  e.routing.experts = count(kExperts, defaults.experts);
  e.routing.chosen = count(kChosen, defaults.chosen);
  e.routing.normalised = view.boolean(kNormalised).value_or(defaults.normalised);
  e.routing.floor = defaults.floor;
  const auto groups = [&](const ConfigField& field) {  // 0 is one, too
    return std::max<std::int64_t>(1, view.integer(field, {0, checkpoint::kMaxCount}).value_or(1));
  };
  e.routing.groups = groups(kGroups);
  e.routing.chosen_groups = groups(kChosenGroups);
  e.routing.scale = static_cast<float>(view.positive_number(kWeightScale).value_or(1.0));
  e.names = view.gguf() ? gguf_expert_names() : llama_expert_names("model.layers.{}.");
  if (defaults.choice_bias.empty()) return e;
  e.names.choice_bias =
      view.gguf() ? "blk.{}.exp_probs_b.bias" : fmt::format("model.layers.{{}}.{}", defaults.choice_bias);
  return e;
}

void name_as_mixtral(ExpertNames& names) {
  const std::string mixture = "model.layers.{}.block_sparse_moe.";
  names.other_router = names.router;  // beside stacks, in files of Transformers' own names
  names.router = mixture + "gate";
  names.gate = mixture + "experts.[].w1";
  names.up = mixture + "experts.[].w3";
  names.down = mixture + "experts.[].w2";
}

void name_shared_expert(ExpertNames& names, const std::string& prefix) {
  names.shared_gate = prefix + "gate_proj";
  names.shared_up = prefix + "up_proj";
  names.shared_down = prefix + "down_proj";
}

ModelSpec llama_spec_without_mtp(checkpoint::ConfigView& view, const ModelConfig& config) {
  const std::int64_t mtp = view.integer(kMtpLayers, {0, config.n_layers - (view.gguf() ? 1 : 0)}).value_or(0);
  ModelConfig own = config;
  if (view.gguf()) own.n_layers -= mtp;
  const auto n = static_cast<std::size_t>(own.n_layers);
  for (auto* counts : {&own.layer_heads, &own.layer_kv_heads, &own.layer_ffn}) {
    if (!counts->empty()) counts->resize(n);
  }
  if (!own.layer_uses_window.empty()) own.layer_uses_window.resize(n);
  ModelSpec spec = llama_spec(view, own);
  for (std::int64_t i = own.n_layers; i < own.n_layers + mtp; ++i) {
    spec.names.ignored.push_back(view.gguf() ? fmt::format("blk.{}.*", i) : fmt::format("model.layers.{}.*", i));
  }
  return spec;
}

std::int64_t read_dense_layers(checkpoint::ConfigView& view, std::int64_t otherwise) {
  return view.integer(kDenseLayers, {0, checkpoint::kMaxCount}).value_or(otherwise);
}

void use_experts(ModelSpec& spec, const ExpertsParams& experts,
                 const std::function<bool(std::int64_t layer)>& has_experts) {
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (!has_experts(static_cast<std::int64_t>(i))) continue;
    BlockSpec& block = spec.layers[i].block<MlpParams>();
    ExpertsParams of_layer = experts;
    of_layer.names.norm = block.as<MlpParams>().names.norm;
    of_layer.norm = block.as<MlpParams>().norm;
    BlockSpec replaced = of_layer;
    replaced.output = block.output;
    block = replaced;
  }
}

void use_experts(ModelSpec& spec, const ExpertsParams& experts, std::int64_t dense_layers) {
  use_experts(spec, experts, [&](std::int64_t layer) { return layer >= dense_layers; });
}

void use_experts_as_read(checkpoint::ConfigView& view, ModelSpec& spec, const ExpertsParams& experts,
                         std::int64_t dense_otherwise) {
  const std::int64_t dense = read_dense_layers(view, dense_otherwise);
  const nlohmann::json* types = view.json(kMlpLayerTypes);
  if (types == nullptr) return use_experts(spec, experts, dense);
  if (!types->is_array() || types->size() != spec.layers.size()) {
    view.bad_value(kMlpLayerTypes, fmt::format("expected a list of {} layers", spec.layers.size()));
  }
  for (const nlohmann::json& type : *types) {
    if (type != "dense" && type != "sparse") view.unsupported(kMlpLayerTypes, "only dense and sparse are supported");
  }
  use_experts(spec, experts,
              [&](std::int64_t layer) { return types->at(static_cast<std::size_t>(layer)) == "sparse"; });
}

}  // namespace millrace::model
