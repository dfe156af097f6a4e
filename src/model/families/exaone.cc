// EXAONE 3, 3.5 and Deep (arXiv:2408.03541): Llama's layer under names of its own.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

void name_exaone(ModelSpec& spec) {
  const std::string layer = "transformer.h.{}.";
  spec.names.embedding = "transformer.wte";
  spec.names.final_norm = "transformer.ln_f";
  spec.names.ignored.emplace_back("*.rotary.inv_freq");
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "ln_1",
               .q = layer + "attn.attention.q_proj",
               .k = layer + "attn.attention.k_proj",
               .v = layer + "attn.attention.v_proj",
               .o = layer + "attn.attention.out_proj"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {
        .norm = layer + "ln_2", .gate = layer + "mlp.c_fc_0", .up = layer + "mlp.c_fc_1", .down = layer + "mlp.c_proj"};
  });
}

}  // namespace

ModelFamily exaone() {
  return {.name = "exaone",
          .hf = {"ExaoneForCausalLM"},
          .gguf = {"exaone"},
          .defaults = {.norm_eps = 1e-5, .code_is_known = true},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (!view.gguf()) name_exaone(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
