// Phi 3, 3.5, 4 and 4-mini (arXiv:2404.14219, arXiv:2412.08905): Llama's layer with fused tensors and longrope.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily phi3() {
  return {.name = "phi3",
          .hf = {"Phi3ForCausalLM"},
          .gguf = {"phi3"},
          .defaults = {.norm_eps = 1e-5, .code_is_known = true},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) each_mlp(spec, [](MlpParams& mlp) { mlp.names.gate_up = "blk.{}.ffn_up"; });
            return spec;
          }};
}

}  // namespace millrace::model::families
