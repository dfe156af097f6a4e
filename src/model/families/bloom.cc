// BLOOM (arXiv:2211.05100): layer norms, also of embeddings, ALiBi, biases everywhere, an ungated GELU MLP.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kNormedResidual{.json = {"apply_residual_connection_post_layernorm"}};

void name_bloom(ModelSpec& spec) {
  const std::string layer = "transformer.h.{}.";
  spec.names.embedding = "transformer.word_embeddings";
  spec.names.embedding_norm = "transformer.word_embeddings_layernorm";
  spec.names.final_norm = "transformer.ln_f";
  each_attention(spec, [&](AttentionParams& a) {
    a.fused = FusedQkv::kGrouped;
    a.names = {.norm = layer + "input_layernorm",
               .qkv = layer + "self_attention.query_key_value",
               .o = layer + "self_attention.dense"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "post_attention_layernorm",
                 .up = layer + "mlp.dense_h_to_4h",
                 .down = layer + "mlp.dense_4h_to_h"};
  });
}

}  // namespace

ModelFamily bloom() {
  return {.name = "bloom",
          .hf = {"BloomForCausalLM", "BloomModel"},
          .gguf = {"bloom"},
          .defaults = {.activation = "gelu_pytorch_tanh",
                       .json = R"({"seq_length": 2048})",
                       .norm_eps = 1e-5,
                       .tied_head = true,
                       .attention_bias = true,
                       .mlp_bias = true,
                       .ffn_factor = 4,
                       .rotary = false},
          .fields = {kNormedResidual},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            if (view.boolean(kNormedResidual).value_or(false))
              view.unsupported(kNormedResidual, "true is not supported");
            ModelSpec spec = llama_spec(view, config);
            spec.names.embedding_norm = "token_embd_norm";
            use_layer_norms(spec, true);
            rotate_nothing(spec);
            each_attention(spec, [](AttentionParams& a) { a.alibi = 1.0f; });
            each_mlp(spec, [](MlpParams& mlp) {
              mlp.gated = false;
              mlp.activation = backend::Activation::kGeluTanh;
            });
            if (!view.gguf()) name_bloom(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
