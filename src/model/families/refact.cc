// Refact 1.6B (Small Magellanic Cloud AI): Llama's layer with ALiBi and one key/value head.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr std::int64_t kRefactStep = 256;  // the MLP's width is rounded up to a multiple of it

void name_refact(ModelSpec& spec) {
  const std::string layer = "transformer.h.{}.";
  spec.names.embedding = "transformer.wte";
  spec.names.final_norm = "transformer.ln_f";
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "ln_1", .q = layer + "attn.q", .o = layer + "attn.c_proj", .kv = layer + "attn.kv"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "ln_2", .down = layer + "mlp.c_proj", .gate_up = layer + "mlp.gate_up_proj"};
  });
}

}  // namespace

ModelFamily refact() {
  return {.name = "refact",
          .hf = {"GPTRefactForCausalLM"},
          .gguf = {"refact"},
          .defaults = {.norm_eps = 1e-5, .ffn_factor = 4, .rotary = false, .code_is_known = true},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            if (!view.gguf()) {
              const std::int64_t width = 8 * config.hidden_size / 3;
              config.intermediate_size = (width + kRefactStep - 1) / kRefactStep * kRefactStep;
              config.n_kv_heads = 1;
            }
            ModelSpec spec = llama_spec(view, config);
            rotate_nothing(spec);
            each_attention(spec, [](AttentionParams& a) { a.alibi = 1.0f; });
            if (!view.gguf()) name_refact(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
