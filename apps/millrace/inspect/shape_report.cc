#include "inspect/shape_report.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "model/blocks/attention.h"
#include "model/blocks/experts.h"
#include "model/blocks/mlp.h"

namespace millrace::app {
namespace {

using Json = nlohmann::ordered_json;
using model::RopeScaling;

std::string_view scaling_name(RopeScaling::Kind kind) {
  switch (kind) {
    case RopeScaling::Kind::kNone: return "none";
    case RopeScaling::Kind::kLinear: return "linear";
    case RopeScaling::Kind::kDynamic: return "dynamic";
    case RopeScaling::Kind::kYarn: return "yarn";
    case RopeScaling::Kind::kLlama3: return "llama3";
    case RopeScaling::Kind::kLongRope: return "longrope";
  }
  return "none";
}

Json describe_rope(const model::RopeConfig& rope) {
  Json described = {{"theta", rope.theta}, {"dimensions", rope.dim}, {"scaling", scaling_name(rope.scaling.kind)}};
  if (rope.scaling.kind != RopeScaling::Kind::kNone) {
    described["factor"] = rope.scaling.factor;
    described["original_context"] = rope.scaling.original_context;
  }
  return described;
}

// One number where all layers have it.
Json number_or_list(const std::vector<std::int64_t>& values, std::int64_t none) {
  if (values.empty()) return none;
  const bool differ = std::ranges::adjacent_find(values, std::ranges::not_equal_to()) != values.end();
  return differ ? Json(values) : Json(values.front());
}

// Layers of experts, which are alike, and how many experts a step of some tokens reads in each if its tokens choose at
// random. Null if there are none.
Json describe_experts(const std::vector<model::ExpertsParams>& layers) {
  if (layers.empty()) return nullptr;
  const model::ExpertsParams& experts = layers.front();
  Json steps = Json::array();
  for (const int tokens : {1, 8, 64, 512}) {
    steps.push_back({{"tokens", tokens}, {"touched", model::expected_experts(experts.routing, tokens)}});
  }
  return {{"layers", layers.size()}, {"experts", experts.routing.experts}, {"chosen", experts.routing.chosen},
          {"ffn", experts.width},    {"shared_ffn", experts.shared_width}, {"steps", std::move(steps)}};
}

}  // namespace

nlohmann::ordered_json describe_shape(const model::ModelConfig& c, const model::ModelSpec* spec) {
  std::vector<std::int64_t> heads, kv_heads, head_dims, value_dims, ffn;
  std::vector<model::ExpertsParams> mixtures;
  std::int64_t window = c.sliding_window, windowed = 0;
  for (model::LayerSpec layer : spec == nullptr ? std::vector<model::LayerSpec>() : spec->layers) {
    for (model::BlockSpec& block : layer.blocks) {
      if (const auto* m = block.find<model::MlpParams>()) ffn.push_back(m->width);
      if (const auto* e = block.find<model::ExpertsParams>()) mixtures.push_back(*e);
      const auto* a = block.find<model::AttentionParams>();
      if (a == nullptr) continue;
      heads.push_back(a->heads);
      kv_heads.push_back(a->kv_heads);
      head_dims.push_back(a->head_dim);
      value_dims.push_back(a->value_head_dim());
      window = std::max(window, a->window);
      windowed += a->window > 0 ? 1 : 0;
    }
  }
  Json rope, further = Json::array();
  for (const model::RopeConfig& one : spec == nullptr ? std::vector{c.rope} : spec->ropes) {
    if (rope.is_null()) {
      rope = describe_rope(one);
    } else {
      further.push_back(describe_rope(one));
    }
  }
  return {{"layers", spec == nullptr ? c.n_layers : std::ssize(spec->layers)},
          {"hidden_size", c.hidden_size},
          {"heads", number_or_list(heads, c.n_heads)},
          {"kv_heads", number_or_list(kv_heads, c.n_kv_heads)},
          {"head_dim", number_or_list(head_dims, c.head_dim)},
          {"value_dim", number_or_list(value_dims, c.value_dim)},
          {"ffn", number_or_list(ffn, c.intermediate_size)},
          {"experts", describe_experts(mixtures)},
          {"vocab_size", c.vocab_size},
          {"context_length", c.context_length},
          {"sliding_window", window},
          {"sliding_window_layers", windowed},
          {"tied_head", spec == nullptr ? c.tie_word_embeddings : spec->tied_head},
          {"rope", std::move(rope)},
          {"further_ropes", std::move(further)}};
}

}  // namespace millrace::app
