// Granite 3 (IBM): Llama's layer with factors for embeddings, scores, what blocks add, and logits.
#include "model/granite_spec.h"

namespace millrace::model::families {

ModelFamily granite() {
  return {.name = "granite",
          .hf = {"GraniteForCausalLM"},
          .gguf = {"granite"},
          .defaults = {.json = R"({"attention_multiplier": 1.0})"},
          .fields = granite_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = granite_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
