// Phi-3.5-MoE (arXiv:2404.14219): Phi 3's layer with layer norms and biases, longrope with a magnitude for short and
// one for long sequences, and two experts chosen by SparseMixer.
#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kPhimoeRope{.json = {"rope_parameters", "rope_scaling"}};
constexpr ConfigField kPhimoeJitter{.json = {"router_jitter_noise"}, .neutral = "*"};  // elsewhere of training alone

void read_phimoe_magnitudes(checkpoint::ConfigView& view, RopeScaling& scaling) {
  const auto rope = view.object(kPhimoeRope);
  if (!rope || scaling.kind != RopeScaling::Kind::kLongRope) return;
  const auto magnitude = [&](std::string_view key) {
    const auto value = rope->number(key);
    if (value && !(*value > 0.0)) rope->wrong_type(key, "a positive number");
    return value;
  };
  scaling.short_magnitude = magnitude("short_mscale");
  scaling.long_magnitude = magnitude("long_mscale");
}

}  // namespace

ModelFamily phimoe() {
  std::vector<ConfigField> fields = moe_fields();
  fields.insert(fields.end(), {kPhimoeRope, kPhimoeJitter});
  return {.name = "phimoe",
          .hf = {"PhimoeForCausalLM", "PhiMoEForCausalLM"},
          .gguf = {"phimoe"},
          .defaults = {.json = R"({"num_key_value_heads": 8, "rope_theta": 1000000.0})",
                       .norm_eps = 1e-5,
                       .code_is_known = true},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            read_phimoe_magnitudes(view, spec.ropes.front().scaling);
            ExpertsParams experts = read_experts(view, spec, {.router = "sparsemixer", .experts = 16});
            experts.routing.chosen = 2;  // whatever the file says
            experts.routing.jitter = static_cast<float>(view.number(kPhimoeJitter).value_or(0.01));
            if (!view.gguf()) name_as_mixtral(experts.names);
            use_experts(spec, experts);
            return spec;
          }};
}

}  // namespace millrace::model::families
