// XVERSE 7B, 13B and 65B: Llama's layer.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily xverse() {
  return {.name = "xverse",
          .hf = {"XverseForCausalLM"},
          .gguf = {"xverse"},
          .defaults = {.code_is_known = true},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
