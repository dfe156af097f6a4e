// HunYuan V1 with experts (Tencent, Hunyuan-A13B): the dense one's layer, with experts beside one that sees every row.
#include <algorithm>

#include "model/moe_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kHunyuanShared{.json = {"num_shared_expert"}, .neutral = "*"};

// One number for all layers, where files have a list; nothing for `false`, which is how they say that there is none.
nlohmann::json one_for_all_layers(checkpoint::ConfigView& view, const ConfigField& field, const nlohmann::json& value) {
  if (value == false) return nullptr;
  if (!value.is_array() || value.empty()) return value;
  const bool equal = std::ranges::all_of(value, [&](const nlohmann::json& one) { return one == value.front(); });
  if (!equal) view.unsupported(field, "layers that differ in it are not supported");
  return value.front();
}

ExpertsParams hunyuan_experts(checkpoint::ConfigView& view, const ModelSpec& spec, const ModelConfig& config) {
  if (view.gguf()) return read_experts(view, spec);
  checkpoint::ConfigFile plain = view.config();
  std::vector<ConfigField> fields = moe_fields();
  fields.push_back(kHunyuanShared);
  for (const ConfigField& field : fields) {
    const nlohmann::json* value = view.json(field);
    if (value != nullptr) plain.json[view.name_of(field)] = one_for_all_layers(view, field, *value);
  }
  checkpoint::ConfigView numbers(plain);
  numbers.spell_as(false);
  ExpertsParams experts = read_experts(numbers, spec);
  const std::int64_t shared = numbers.integer(kHunyuanShared, {0, checkpoint::kMaxCount}).value_or(1);
  experts.shared_width = shared * config.intermediate_size;
  experts.names.router = "model.layers.{}.mlp.gate.wg";
  name_shared_expert(experts.names, "model.layers.{}.mlp.shared_mlp.");
  return experts;
}

}  // namespace

ModelFamily hunyuan_moe() {
  std::vector<ConfigField> fields = moe_fields();
  fields.push_back(kHunyuanShared);
  return {.name = "hunyuan_v1_moe",
          .hf = {"HunYuanMoEV1ForCausalLM"},
          .gguf = {"hunyuan-moe"},
          .defaults = {.norm_eps = 1e-5, .code_is_known = true},
          .fields = fields,
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            add_head_norms(spec);
            each_attention(spec, [&](AttentionParams& a) {
              a.q_k_norm->after_rotation = true;
              if (view.gguf()) return;
              a.names.q_norm = "model.layers.{}.self_attn.query_layernorm";
              a.names.k_norm = "model.layers.{}.self_attn.key_layernorm";
            });
            use_experts(spec, hunyuan_experts(view, spec, config));
            return spec;
          }};
}

}  // namespace millrace::model::families
