// InternLM 1 and 3 (Shanghai AI Laboratory): Llama's layer, possibly with biases. GGUF calls both "llama".
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

// The tensors tell.
constexpr checkpoint::ConfigField kInternlmBias{.json = {"bias"}, .neutral = "*"};
constexpr checkpoint::ConfigField kInternlmQkvBias{.json = {"qkv_bias"}, .neutral = "*"};
// Of InternLM 1: {"base": 10000, "type": "dynamic"}; GPT-J has a switch of that name.
constexpr checkpoint::ConfigField kRotary{.json = {"rotary"}, .neutral = "*"};

void read_rotary(checkpoint::ConfigView& view, ModelConfig& config) {
  const auto rotary = view.object(kRotary);
  if (!rotary) return;
  config.rope.theta = rotary->number("base").value_or(config.rope.theta);
  const std::string type = rotary->text("type").value_or("origin");
  if (type == "origin") return;
  if (type != "dynamic") rotary->unsupported("type", "only dynamic and origin are supported");
  config.rope.scaling.kind = RopeScaling::Kind::kDynamic;
  config.rope.scaling.factor = rotary->number("scaling_factor").value_or(1.0);
}

}  // namespace

ModelFamily internlm() {
  return {.name = "internlm",
          .hf = {"InternLMForCausalLM", "InternLM3ForCausalLM"},
          .gguf = {},
          .defaults = {.code_is_known = true},
          .fields = {kInternlmBias, kInternlmQkvBias, kRotary},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            view.has(kInternlmBias);
            view.has(kInternlmQkvBias);
            ModelConfig config = read;
            read_rotary(view, config);
            return llama_spec(view, config);
          }};
}

}  // namespace millrace::model::families
