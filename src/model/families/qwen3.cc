// Qwen3 (arXiv:2505.09388): the Llama layer with RMSNorm on each query and key head.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily qwen3() {
  return {.name = "qwen3",
          .hf = {"Qwen3ForCausalLM"},
          .gguf = {"qwen3", "qwen3vl"},
          .text_types = {"qwen3", "qwen3_vl_text"},
          .defaults = {.windows = false},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            add_head_norms(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
