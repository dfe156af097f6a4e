// Command R7B and A (arXiv:2504.00698): Command R with a window in three of four layers; the others do not rotate.
#include "model/cohere_spec.h"

namespace millrace::model::families {

ModelFamily cohere2() {
  return {.name = "cohere2",
          .hf = {"Cohere2ForCausalLM"},
          .gguf = {"cohere2"},
          .text_types = {{"cohere2", kCohereSizes}},
          .defaults = {.json = R"({"logit_scale": 0.0625, "sliding_window": 4096})",
                       .norm_eps = 1e-5,
                       .tied_head = true,
                       .window_period = 4},
          .fields = {kLogitScale},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = cohere_spec(view, config);
            each_attention(spec, [](AttentionParams& a) {
              if (a.window == 0) a.rope = -1;
            });
            return spec;
          }};
}

}  // namespace millrace::model::families
