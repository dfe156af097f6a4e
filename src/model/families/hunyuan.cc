// HunYuan V1 dense (Tencent): Llama's layer with norms of heads behind the rotation, whose base has a fixed factor.
#include "model/moe_spec.h"

namespace millrace::model::families {

ModelFamily hunyuan() {
  return {.name = "hunyuan",
          .hf = {"HunYuanDenseV1ForCausalLM"},
          .gguf = {"hunyuan-dense"},
          .text_types = {{"hunyuan_v1_dense"}, {"hunyuan_vl_text", R"({"tie_word_embeddings": true})"}},
          .defaults = {.norm_eps = 1e-5},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            refuse_experts(view);  // one is none
            add_head_norms(spec);
            each_attention(spec, [&](AttentionParams& a) {
              a.q_k_norm->after_rotation = true;
              if (view.gguf()) return;
              a.names.q_norm = "model.layers.{}.self_attn.query_layernorm";
              a.names.k_norm = "model.layers.{}.self_attn.key_layernorm";
            });
            return spec;
          }};
}

}  // namespace millrace::model::families
