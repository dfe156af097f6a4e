#include "model/gptj_spec.h"

namespace millrace::model {

ConfigDefaults gptj_defaults() {
  return {
      .activation = "gelu_new", .json = R"({"rotary_dim": 64})", .norm_eps = 1e-5, .mlp_bias = true, .ffn_factor = 4};
}

ModelSpec gptj_spec(checkpoint::ConfigView& view, const ModelConfig& config) {
  ModelSpec spec = llama_spec(view, config);
  keep_rotary_pairs(spec);
  use_layer_norms(spec, true);
  const std::string layer = "transformer.h.{}.";
  spec.names.embedding = "transformer.wte";
  spec.names.final_norm = "transformer.ln_f";
  spec.names.ignored = {"*.attn.bias", "*.attn.masked_bias", "*.attn.causal_mask"};
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "ln_1",
               .q = layer + "attn.q_proj",
               .k = layer + "attn.k_proj",
               .v = layer + "attn.v_proj",
               .qkv = layer + "attn.qkv_proj",
               .o = layer + "attn.out_proj"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.gated = false;
    mlp.names = {.up = layer + "mlp.fc_in", .down = layer + "mlp.fc_out"};
  });
  run_behind_one_norm(spec);
  return spec;
}

}  // namespace millrace::model
