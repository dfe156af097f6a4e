#include "model/fairseq_spec.h"

namespace millrace::model {

void name_fairseq_layers(ModelSpec& spec, const std::string& model) {
  const std::string layer = model + "layers.{}.";
  spec.names.embedding = model + "embed_tokens";
  spec.names.positions = model + "embed_positions";
  spec.names.final_norm = model + "layer_norm";
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "self_attn_layer_norm",
               .q = layer + "self_attn.q_proj",
               .k = layer + "self_attn.k_proj",
               .v = layer + "self_attn.v_proj",
               .o = layer + "self_attn.out_proj"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "final_layer_norm", .up = layer + "fc1", .down = layer + "fc2"};
  });
}

}  // namespace millrace::model
