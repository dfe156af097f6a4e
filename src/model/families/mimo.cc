// MiMo (arXiv:2505.07608): Qwen2's layers. Beside them lie layers for multi-token prediction, which speculation reads.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily mimo() {
  return {.name = "mimo",
          .hf = {"MiMoForCausalLM"},
          .gguf = {},
          .spec = [](const checkpoint::ModelConfig& config, checkpoint::Checkpoint::Container container) {
            ModelSpec spec = llama_spec(config, container);
            spec.names.ignored.emplace_back("model.mtp_layers.*");
            return spec;
          }};
}

}  // namespace millrace::model::families
