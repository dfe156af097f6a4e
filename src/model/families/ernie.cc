// ERNIE 4.5 (Baidu), dense: Llama's layer with rotary pairs.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kErnieBias{.json = {"use_bias"}, .neutral = "*"};  // the tensors tell

}  // namespace

ModelFamily ernie() {
  return {.name = "ernie4_5",
          .hf = {"Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM"},
          .gguf = {"ernie4_5"},
          .defaults = {.json = R"({"head_dim": 128, "num_key_value_heads": 2, "rope_theta": 500000.0})",
                       .norm_eps = 1e-5,
                       .tied_head = true,
                       .code_is_known = true},
          .fields = {kErnieBias},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            view.has(kErnieBias);
            ModelSpec spec = llama_spec(view, config);
            keep_rotary_pairs(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
