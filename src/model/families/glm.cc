// GLM-4 9B (arXiv:2406.12793) in Transformers' form; GGUF calls it ChatGLM.
#include "model/glm_spec.h"

namespace millrace::model::families {

ModelFamily glm() {
  return {.name = "glm",
          .hf = {"GlmForCausalLM"},
          .gguf = {"chatglm"},
          .defaults = {.json = R"({"head_dim": 128, "num_key_value_heads": 2, "partial_rotary_factor": 0.5})",
                       .norm_eps = 1.5625e-7,
                       .attention_bias = true},
          .spec = glm_spec};
}

}  // namespace millrace::model::families
