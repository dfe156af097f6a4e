// ERNIE 4.5 (Baidu), dense: Llama's layer with rotary pairs; inside PaddleOCR-VL it rotates halves.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kErnieBias{.json = {"use_bias"}, .neutral = "*"};  // the tensors tell

constexpr std::string_view kPaddleOcr = "PaddleOCRVLForConditionalGeneration";
constexpr std::string_view kPaddleOcrText = R"({"vocab_size": 103424, "hidden_size": 1024, "intermediate_size": 3072,
    "num_hidden_layers": 18, "num_attention_heads": 16, "max_position_embeddings": 131072})";

}  // namespace

ModelFamily ernie() {
  return {.name = "ernie4_5",
          .hf = {"Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM", kPaddleOcr},
          .gguf = {"ernie4_5"},
          .text_types = {{"paddleocr_vl_text", kPaddleOcrText}},
          .defaults = {.json = R"({"head_dim": 128, "num_key_value_heads": 2, "rope_theta": 500000.0})",
                       .norm_eps = 1e-5,
                       .tied_head = true,
                       .code_is_known = true},
          .fields = {kErnieBias},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            view.has(kErnieBias);
            ModelSpec spec = llama_spec(view, config);
            if (config.architecture != kPaddleOcr) keep_rotary_pairs(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
