// ChatGLM 2 and 3, and GLM-4 9B (arXiv:2406.12793) in the form that came with code of its own; glm is Transformers'.
#include "model/glm_spec.h"

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kRopeRatio{.json = {"rope_ratio"}, .neutral = "1"};  // factor of the base
constexpr ConfigField kChatglmRms{.json = {"rmsnorm"}, .neutral = "true"};
constexpr ConfigField kFinalNorm{.json = {"post_layer_norm"}, .neutral = "true"};
constexpr ConfigField kChatglmNormed{.json = {"apply_residual_connection_post_layernorm"}};
constexpr ConfigField kTwoDimensions{.json = {"position_encoding_2d"}};  // ChatGLM 1
constexpr ConfigField kPrefix{.json = {"pre_seq_len"}};                  // P-tuning
// The tensors tell.
constexpr ConfigField kChatglmBias{.json = {"add_bias_linear"}, .neutral = "*"};
constexpr ConfigField kChatglmQkvBias{.json = {"add_qkv_bias"}, .neutral = "*"};
constexpr ConfigField kChatglmMultiQuery{.json = {"multi_query_attention"}, .neutral = "*"};

void reject_variants(checkpoint::ConfigView& view) {
  for (const ConfigField& field : {kChatglmRms, kFinalNorm}) {
    if (!view.boolean(field).value_or(true)) view.unsupported(field, "false is not supported");
  }
  for (const ConfigField& field : {kChatglmNormed, kTwoDimensions}) {
    if (view.boolean(field).value_or(false)) view.unsupported(field, "true is not supported");
  }
  if (view.integer(kPrefix).value_or(0) != 0) view.unsupported(kPrefix, "prefixes of P-tuning are not supported");
  for (const ConfigField& field : {kChatglmBias, kChatglmQkvBias}) view.has(field);
}

void name_chatglm(ModelSpec& spec) {
  const std::string layer = "transformer.encoder.layers.{}.";
  spec.names.embedding = "transformer.embedding.word_embeddings";
  spec.names.final_norm = "transformer.encoder.final_layernorm";
  spec.names.head = "transformer.output_layer";
  spec.names.ignored = {"*.rotary_pos_emb.inv_freq", "transformer.vision.*"};
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "input_layernorm",
               .qkv = layer + "self_attention.query_key_value",
               .o = layer + "self_attention.dense"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "post_attention_layernorm",
                 .down = layer + "mlp.dense_4h_to_h",
                 .gate_up = layer + "mlp.dense_h_to_4h"};
  });
}

}  // namespace

ModelFamily chatglm() {
  return {.name = "chatglm",
          .hf = {"ChatGLMModel", "ChatGLMForConditionalGeneration"},
          .gguf = {},  // glm, whose tensors are the same there
          .defaults = {.json = R"({"partial_rotary_factor": 0.5})",
                       .norm_eps = 1e-5,
                       .attention_bias = true,
                       .code_is_known = true},
          .fields = {kRopeRatio, kChatglmRms, kFinalNorm, kChatglmNormed, kTwoDimensions, kPrefix, kChatglmBias,
                     kChatglmQkvBias, kChatglmMultiQuery},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            reject_variants(view);
            ModelConfig config = read;
            config.rope.theta *= view.positive_number(kRopeRatio).value_or(1.0);
            if (!view.boolean(kChatglmMultiQuery).value_or(true)) config.n_kv_heads = config.n_heads;
            ModelSpec spec = glm_spec(view, config);
            name_chatglm(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
