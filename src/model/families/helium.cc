// Helium (Kyutai): Llama's layer with rotary pairs.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily helium() {
  return {.name = "helium",
          .hf = {"HeliumForCausalLM"},
          .gguf = {},
          .defaults = {.json = R"({"head_dim": 128, "rope_theta": 100000.0})", .norm_eps = 1e-8},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            keep_rotary_pairs(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
