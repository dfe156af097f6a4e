// GPT-J (EleutherAI): attention and MLP in parallel behind one layer norm, partial rotary pairs, biases in MLP and
// head.
#include "model/gptj_spec.h"

namespace millrace::model::families {

ModelFamily gptj() {
  return {.name = "gptj",
          .hf = {"GPTJForCausalLM"},
          .gguf = {},
          .defaults = {.activation = "gelu_new",
                       .json = R"({"rotary_dim": 64})",
                       .norm_eps = 1e-5,
                       .mlp_bias = true,
                       .ffn_factor = 4},
          .spec = gptj_spec};
}

}  // namespace millrace::model::families
