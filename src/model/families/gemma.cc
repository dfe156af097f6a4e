// Gemma 1 (arXiv:2403.08295): embeddings times the root of their size, norms with 1 + weight, GELU, a tied head.
#include "model/gemma_spec.h"

namespace millrace::model::families {

ModelFamily gemma() {
  return {.name = "gemma",
          .hf = {"GemmaForCausalLM"},
          .gguf = {"gemma"},
          .defaults = {.json = R"({"head_dim": 256})", .tied_head = true},
          .spec = gemma_spec};
}

}  // namespace millrace::model::families
