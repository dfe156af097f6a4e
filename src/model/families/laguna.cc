// Laguna (Poolside): layers of different numbers of heads, norms of heads, and a gate of what they give by softplus;
// windows, whose layers rotate otherwise; experts chosen by sigmoids beside a shared one.
#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kLagunaHeads{.json = {"num_attention_heads_per_layer"}};
constexpr ConfigField kLagunaGating{.json = {"gating"}};
constexpr ConfigField kLagunaCap{.json = {"moe_router_logit_softcapping"}};
constexpr ConfigField kLagunaScalesInputs{.json = {"moe_apply_router_weight_on_input"}};

ModelConfig laguna_config(checkpoint::ConfigView& view, ModelConfig config) {
  if (const auto heads = view.integers(kLagunaHeads, config.n_layers, checkpoint::kCounts)) config.layer_heads = *heads;
  if (!view.gguf()) return config;
  config.layer_uses_window.clear();  // which GGUF does not say
  for (std::int64_t i = 0; i < config.n_layers; ++i) config.layer_uses_window.push_back(i % 4 != 0);
  return config;
}

OutputGate laguna_gate(checkpoint::ConfigView& view) {
  const nlohmann::json* gating = view.json(kLagunaGating);
  const bool by_heads = gating == nullptr || *gating == true || *gating == "per-head";
  return by_heads ? OutputGate::kHeads : OutputGate::kChannels;
}

ExpertsParams laguna_experts(checkpoint::ConfigView& view, const ModelSpec& spec) {
  ExpertsParams experts = read_experts(
      view, spec,
      {.router = "sigmoid", .experts = 256, .chosen = 8, .choice_bias = "mlp.experts.e_score_correction_bias"});
  if (view.boolean(kLagunaScalesInputs).value_or(false)) view.unsupported(kLagunaScalesInputs, "true is not supported");
  const double cap = view.number(kLagunaCap).value_or(0.0);
  experts.router_softcap = static_cast<float>(cap > 0.0 ? cap : 0.0);
  if (!view.gguf()) name_shared_expert(experts.names, "model.layers.{}.mlp.shared_expert.");
  return experts;
}

}  // namespace

ModelFamily laguna() {
  std::vector<ConfigField> fields = moe_fields();
  fields.insert(fields.end(), {kLagunaHeads, kLagunaGating, kLagunaCap, kLagunaScalesInputs});
  return {.name = "laguna",
          .hf = {"LagunaForCausalLM"},
          .gguf = {"laguna"},
          .defaults = {.json = R"({"head_dim": 128, "sliding_window": 512, "moe_intermediate_size": 512,
                                   "shared_expert_intermediate_size": 512, "rope_parameters": {
                                   "full_attention": {"rope_theta": 500000.0, "partial_rotary_factor": 0.5},
                                   "sliding_attention": {"rope_theta": 10000.0}}})",
                       .window_period = 1,
                       .code_is_known = true},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec_without_mtp(view, laguna_config(view, config));
            add_head_norms(spec);
            const OutputGate gate = laguna_gate(view);
            each_attention(spec, [&](AttentionParams& a) {
              a.gate = gate;
              a.gate_function = backend::GateFunction::kSoftplus;
              if (!view.gguf()) a.names.gate = "model.layers.{}.self_attn.g_proj";
            });
            use_experts_as_read(view, spec, laguna_experts(view, spec), 1);
            return spec;
          }};
}

}  // namespace millrace::model::families
