// GLM-4-0414 (Z.ai): GLM-4 with norms on both sides of each block. So have the text models of GLM-4.1V and GLM-OCR,
// whose sections of positions are equal for text.
#include "model/glm_spec.h"

namespace millrace::model::families {
namespace {

constexpr std::string_view kGlm4vText = R"({"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 13696,
    "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": null,
    "max_position_embeddings": 32768, "rms_norm_eps": 1e-5, "partial_rotary_factor": 1.0})";
constexpr std::string_view kGlmOcrText = R"({"vocab_size": 59392, "hidden_size": 1024, "intermediate_size": 4096,
    "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": null,
    "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "partial_rotary_factor": 1.0, "attention_bias": false})";

// GGUF has the rotated rows of a model with sections as halves.
constexpr checkpoint::ConfigField kGlm4Sections{.gguf = {"rope.dimension_sections"}, .neutral = "*"};
// Layers of multi-token prediction behind those of the model.
constexpr checkpoint::ConfigField kGlmOcrMtpLayers{.json = {"num_nextn_predict_layers"}};

void ignore_mtp_layers(checkpoint::ConfigView& view, ModelSpec& spec) {
  if (view.config().text_type != "glm_ocr_text") return;
  const std::int64_t layers = std::ssize(spec.layers);
  const std::int64_t mtp = view.integer(kGlmOcrMtpLayers, {0, layers}).value_or(1);
  for (std::int64_t i = 0; i < mtp; ++i) spec.names.ignored.push_back(fmt::format("*.layers.{}.*", layers + i));
}

}  // namespace

ModelFamily glm4() {
  return {.name = "glm4",
          .hf = {"Glm4ForCausalLM"},
          .gguf = {"glm4"},
          .text_types = {{"glm4v_text", kGlm4vText}, {"glm_ocr_text", kGlmOcrText}},
          .defaults = {.json = R"({"head_dim": 128, "num_key_value_heads": 2, "partial_rotary_factor": 0.5})",
                       .norm_eps = 1.5625e-7,
                       .attention_bias = true},
          .fields = {kGlm4Sections, kGlmOcrMtpLayers},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = glm_spec(view, config);
            if (view.has(kGlm4Sections)) each_attention(spec, [](AttentionParams& a) { a.rotary_pairs = false; });
            add_post_norms(spec, view.gguf(), "post_self_attn_layernorm", "post_mlp_layernorm");
            ignore_mtp_layers(view, spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
