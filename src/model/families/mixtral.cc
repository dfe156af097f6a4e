// Mixtral (arXiv:2401.04088): Mistral's layers with experts. GGUF calls these "llama".
#include "model/moe_spec.h"

namespace millrace::model::families {

ModelFamily mixtral() {
  return {.name = "mixtral",
          .hf = {"MixtralForCausalLM"},
          .gguf = {},
          .defaults = {.norm_eps = 1e-5},
          .fields = moe_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            ExpertsParams experts = read_experts(view, spec);
            name_as_mixtral(experts.names);
            use_experts(spec, experts);
            return spec;
          }};
}

}  // namespace millrace::model::families
