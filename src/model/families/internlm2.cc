// InternLM 2 and 2.5 (arXiv:2403.17297): Llama's layer. Queries, keys and values of a group lie in one tensor.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kInternlm2Bias{.json = {"bias"}, .neutral = "*"};  // the tensors tell

void name_internlm2(ModelSpec& spec) {
  const std::string layer = "model.layers.{}.";
  spec.names.embedding = "model.tok_embeddings";
  spec.names.head = "output";
  each_attention(spec, [&](AttentionParams& a) {
    a.fused = FusedQkv::kGrouped;
    a.names = {.norm = layer + "attention_norm", .qkv = layer + "attention.wqkv", .o = layer + "attention.wo"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "ffn_norm",
                 .gate = layer + "feed_forward.w1",
                 .up = layer + "feed_forward.w3",
                 .down = layer + "feed_forward.w2"};
  });
}

}  // namespace

ModelFamily internlm2() {
  return {.name = "internlm2",
          .hf = {"InternLM2ForCausalLM"},
          .gguf = {"internlm2"},
          .defaults = {.code_is_known = true},
          .fields = {kInternlm2Bias},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            view.has(kInternlm2Bias);
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) {
              keep_rotary_pairs(spec);
            } else {
              name_internlm2(spec);
            }
            return spec;
          }};
}

}  // namespace millrace::model::families
