// Llama 1 to 3.x, SmolLM and SmolLM2 (arXiv:2302.13971, arXiv:2307.09288, arXiv:2407.21783): RMSNorm, rotary embedding,
// grouped-query attention, SwiGLU. GGUF files of this architecture keep Q and K rows in rotary pairs. GGUF calls
// Mistral "llama" too.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily llama() {
  return {.name = "llama",
          .hf = {"LlamaForCausalLM"},
          .gguf = {"llama"},
          .text_types = {"llama"},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
