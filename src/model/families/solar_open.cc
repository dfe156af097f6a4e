// Solar Open (Upstage, 2026): GLM-4.5's layer, rotated as a whole, with experts everywhere. GGUF calls it glm4moe.
#include "model/moe_spec.h"

namespace millrace::model::families {

ModelFamily solar_open() {
  return {.name = "solar_open",
          .hf = {"SolarOpenForCausalLM"},
          .gguf = {},
          // Newer files leave out the width of an MLP, which no layer has.
          .defaults = {.json = R"({"head_dim": 128, "intermediate_size": 10240, "moe_intermediate_size": 1280,
                                   "n_shared_experts": 1, "rope_theta": 1000000.0})",
                       .norm_eps = 1e-5,
                       .code_is_known = true},
          .fields = moe_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec_without_mtp(view, config);
            use_experts_as_read(view, spec, read_experts(view, spec, kGlmExperts));
            return spec;
          }};
}

}  // namespace millrace::model::families
