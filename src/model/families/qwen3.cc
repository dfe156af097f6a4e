// Qwen3 (arXiv:2505.09388): the Llama layer with RMSNorm on each query and key head.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily qwen3() {
  return {.name = "qwen3",
          .hf = {"Qwen3ForCausalLM"},
          .gguf = {"qwen3"},
          .defaults = {.windows = false},
          .spec = [](checkpoint::ConfigView&, const ModelConfig& config, checkpoint::Checkpoint::Container container) {
            ModelSpec spec = llama_spec(config, container);
            for (LayerSpec& layer : spec.layers) layer.get<AttentionParams>().q_k_norm = true;
            return spec;
          }};
}

}  // namespace millrace::model::families
