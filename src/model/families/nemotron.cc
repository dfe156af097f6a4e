// Nemotron 3 and 4 (arXiv:2402.16819): layer norms with 1 + weight, partial rotation, an MLP of squared ReLU.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily nemotron() {
  return {.name = "nemotron",
          .hf = {"NemotronForCausalLM"},
          .gguf = {"nemotron"},
          .defaults = {.activation = "relu2", .json = R"({"partial_rotary_factor": 0.5})", .norm_eps = 1e-5},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            use_offset_norms(spec, view.gguf());
            each_mlp(spec, [](MlpParams& mlp) { mlp.gated = false; });
            return spec;
          }};
}

}  // namespace millrace::model::families
