// CodeGen (arXiv:2203.13474): GPT-J's layer with Q, K and V in one tensor, by quarters.
#include "model/gptj_spec.h"

namespace millrace::model::families {

ModelFamily codegen() {
  return {.name = "codegen",
          .hf = {"CodeGenForCausalLM"},
          .gguf = {},
          .defaults = gptj_defaults(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = gptj_spec(view, config);
            each_attention(spec, [](AttentionParams& a) { a.fused = FusedQkv::kQuarters; });
            return spec;
          }};
}

}  // namespace millrace::model::families
