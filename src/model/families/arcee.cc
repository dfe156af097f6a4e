// AFM 4.5B (Arcee): Llama's layer with an MLP of squared ReLU.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily arcee() {
  return {.name = "arcee",
          .hf = {"ArceeForCausalLM"},
          .gguf = {"arcee"},
          .defaults = {.activation = "relu2", .norm_eps = 1e-5},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            each_mlp(spec, [](MlpParams& mlp) { mlp.gated = false; });
            return spec;
          }};
}

}  // namespace millrace::model::families
