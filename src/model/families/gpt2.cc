// GPT-2: LayerNorm, learned positions, biases everywhere, an ungated GELU MLP. Hugging Face keeps its weights as [in,
// out] and Q, K and V as one matrix; the head is tied.
#include "model/gpt2_spec.h"

namespace millrace::model::families {

ModelFamily gpt2() {
  return {.name = "gpt2",
          .hf = {"GPT2LMHeadModel"},
          .gguf = {"gpt2"},
          .defaults = gpt2_defaults("gelu_new"),
          .fields = gpt2_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            reject_gpt2_variants(view);
            ModelSpec spec = gpt2_spec(view, config);
            spec.transposed_linears = !view.gguf();
            return spec;
          }};
}

}  // namespace millrace::model::families
