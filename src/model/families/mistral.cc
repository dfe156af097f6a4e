// Mistral (arXiv:2310.06825): the Llama layer with sliding-window attention.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily mistral() { return {.name = "mistral", .hf = {"MistralForCausalLM"}, .gguf = {}, .spec = llama_spec}; }

}  // namespace millrace::model::families
