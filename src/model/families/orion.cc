// Orion 14B (arXiv:2401.12246): Llama's layer with layer norms.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily orion() {
  return {.name = "orion",
          .hf = {"OrionForCausalLM"},
          .gguf = {"orion"},
          .defaults = {.norm_eps = 1e-5, .code_is_known = true},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            return spec;
          }};
}

}  // namespace millrace::model::families
