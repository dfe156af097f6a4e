// CWM (arXiv:2510.02387): Llama 3's layer with a window in three of four layers, the first of four without.
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily cwm() {
  return {.name = "cwm",
          .hf = {"CwmForCausalLM"},
          .gguf = {},
          .defaults = {.json = R"({"head_dim": 128, "num_key_value_heads": 8, "rope_theta": 1000000.0,
                                   "sliding_window": 8192})",
                       .norm_eps = 1e-5},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            if (config.layer_uses_window.empty() && config.sliding_window > 0) {
              for (std::int64_t i = 0; i < config.n_layers; ++i) config.layer_uses_window.push_back(i % 4 != 0);
            }
            return llama_spec(view, config);
          }};
}

}  // namespace millrace::model::families
