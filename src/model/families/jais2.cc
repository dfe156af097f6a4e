// Jais 2 (G42): layer norms, biases everywhere, an MLP of squared ReLU.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily jais2() {
  return {.name = "jais2",
          .hf = {"Jais2ForCausalLM"},
          .gguf = {"jais2"},
          .defaults = {.activation = "relu2", .norm_eps = 1e-5, .attention_bias = true, .mlp_bias = true},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            each_mlp(spec, [](MlpParams& mlp) { mlp.gated = false; });
            return spec;
          }};
}

}  // namespace millrace::model::families
