// Qwen2 and Qwen2.5 (arXiv:2407.10671): the Llama layer with biases on Q, K and V, which no field mentions. Windows are
// off unless use_sliding_window says otherwise.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily qwen2() {
  return {.name = "qwen2",
          .hf = {"Qwen2ForCausalLM", "Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"},
          .gguf = {"qwen2", "qwen2vl"},
          .text_types = {"qwen2", "qwen2_vl_text", "qwen2_5_vl_text"},
          .defaults = {.attention_bias = true, .windows = false},
          .spec = llama_spec};
}

}  // namespace millrace::model::families
