// Spark X2.5 (iFlytek, 2026): Llama's layer with gated GELU, windows that rotate by themselves, and a gate of each
// head's output.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kHeadGate{.json = {"headwise_attn_output_gate"}, .neutral = "*"};
constexpr ConfigField kGateActivation{.json = {"gate_attn_act_mode"}, .neutral = "*"};

}  // namespace

ModelFamily spark2_5() {
  return {.name = "spark2_5",
          .hf = {"Spark2_5ForCausalLM"},
          .gguf = {"spark2_5"},
          .defaults = {.activation = "gelu", .code_is_known = true},
          .fields = {kHeadGate, kGateActivation},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            if (!view.boolean(kHeadGate).value_or(true)) {
              view.unsupported(kHeadGate, "only true is supported");
            }
            if (view.text(kGateActivation).value_or("sigmoid") != "sigmoid") {
              view.unsupported(kGateActivation, "only sigmoid is supported");
            }
            ModelSpec spec = llama_spec(view, config);
            each_attention(spec, [&](AttentionParams& a) {
              a.gate = OutputGate::kHeads;
              if (view.gguf()) return;
              a.names.gate = "model.layers.{}.self_attn.g_proj";
              a.names.qkv = "model.layers.{}.self_attn.q_k_v_proj";
            });
            return spec;
          }};
}

}  // namespace millrace::model::families
