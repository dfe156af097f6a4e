// VaultGemma (arXiv:2510.15001): Gemma 2 without the norms behind the blocks.
#include "model/gemma_spec.h"

namespace millrace::model::families {

ModelFamily vaultgemma() {
  return {.name = "vaultgemma",
          .hf = {"VaultGemmaForCausalLM"},
          .gguf = {},
          .defaults = {.json = R"({"head_dim": 256, "sliding_window": 4096, "query_pre_attn_scalar": 256,
                                   "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0})",
                       .tied_head = true,
                       .window_period = 2},
          .fields = gemma2_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = gemma2_spec(view, config, 0);
            for (LayerSpec& layer : spec.layers) {
              for (BlockSpec& block : layer.blocks) block.output.norm_name.clear();
            }
            return spec;
          }};
}

}  // namespace millrace::model::families
