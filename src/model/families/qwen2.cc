// Qwen2 and Qwen2.5 (arXiv:2407.10671): the Llama layer with biases on Q, K and V, found in the file.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily qwen2() { return {.name = "qwen2", .hf = {"Qwen2ForCausalLM"}, .gguf = {"qwen2"}, .spec = llama_spec}; }

}  // namespace millrace::model::families
