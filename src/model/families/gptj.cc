// GPT-J (EleutherAI): attention and MLP in parallel behind one layer norm, partial rotary pairs, biases in MLP and
// head.
#include "model/gptj_spec.h"

namespace millrace::model::families {

ModelFamily gptj() {
  return {.name = "gptj", .hf = {"GPTJForCausalLM"}, .gguf = {}, .defaults = gptj_defaults(), .spec = gptj_spec};
}

}  // namespace millrace::model::families
