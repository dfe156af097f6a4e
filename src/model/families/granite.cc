// Granite 3 (IBM): Llama's layer with factors for embeddings, scores, what blocks add, and logits.
#include "model/granite_spec.h"

namespace millrace::model::families {
namespace {

constexpr std::string_view kGraniteDoclingText = R"({"vocab_size": 133800, "hidden_size": 1024,
    "intermediate_size": 2048, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 4,
    "max_position_embeddings": 32768, "rms_norm_eps": 1e-5, "tie_word_embeddings": true,
    "embedding_multiplier": 12.0, "logits_scaling": 4.0, "residual_multiplier": 0.263,
    "attention_multiplier": 0.015625})";

}  // namespace

ModelFamily granite() {
  return {.name = "granite",
          .hf = {"GraniteForCausalLM"},
          .gguf = {"granite"},
          .text_types = {{"granite", kLlamaSizes},
                         {"granite4_vision_text", kLlamaSizes},
                         {"granite_docling_text", kGraniteDoclingText}},
          .defaults = {.json = R"({"attention_multiplier": 1.0})"},
          .fields = granite_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = granite_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
