// GPT-2: LayerNorm, learned positions, biases everywhere, an ungated GELU MLP. Hugging Face keeps its weights as [in,
// out] and Q, K and V as one matrix; the head is tied.
#include "model/gpt2_spec.h"

namespace millrace::model::families {

ModelFamily gpt2() {
  return {.name = "gpt2",
          .hf = {"GPT2LMHeadModel"},
          .gguf = {"gpt2"},
          .defaults = {.activation = "gelu_new",
                       .norm_eps = 1e-5,
                       .tied_head = true,
                       .attention_bias = true,
                       .mlp_bias = true,
                       .ffn_factor = 4,
                       .rotary = false},
          .fields = gpt2_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            reject_gpt2_variants(view);
            ModelSpec spec = gpt2_spec(view, config);
            spec.transposed_linears = !view.gguf();
            return spec;
          }};
}

}  // namespace millrace::model::families
