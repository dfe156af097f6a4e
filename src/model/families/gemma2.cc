// Gemma 2 (arXiv:2408.00118): norms on both sides of each block, capped scores and logits, a window in every other
// layer.
#include "model/gemma_spec.h"

namespace millrace::model::families {

ModelFamily gemma2() {
  return {
      .name = "gemma2",
      .hf = {"Gemma2ForCausalLM"},
      .gguf = {"gemma2"},
      .defaults = {.json = R"({"head_dim": 256, "sliding_window": 4096, "query_pre_attn_scalar": 256,
                                   "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})",
                   .tied_head = true,
                   .window_period = 2},
      .fields = gemma2_fields(),
      .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) { return gemma2_spec(view, config, 46); }};
}

}  // namespace millrace::model::families
