// Mistral (arXiv:2310.06825) and Ministral 8B: the Llama layer with sliding-window attention, in all layers or some.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily mistral() {
  return {.name = "mistral",
          .hf = {"MistralForCausalLM", "MinistralForCausalLM"},
          .gguf = {},
          .text_types = {"mistral", "ministral"},
          .spec = llama_spec};
}

}  // namespace millrace::model::families
