#include "model/gpt_neox_spec.h"

namespace millrace::model {

void name_gpt_neox(ModelSpec& spec, const std::string& model) {
  const std::string layer = model + "layers.{}.";
  spec.names.embedding = model + "embed_in";
  spec.names.final_norm = model + "final_layer_norm";
  spec.names.head = "embed_out";
  each_attention(spec, [&](AttentionParams& a) {
    a.fused = FusedQkv::kGrouped;
    a.names = {
        .norm = layer + "input_layernorm", .qkv = layer + "attention.query_key_value", .o = layer + "attention.dense"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "post_attention_layernorm",
                 .up = layer + "mlp.dense_h_to_4h",
                 .down = layer + "mlp.dense_4h_to_h"};
  });
}

}  // namespace millrace::model
