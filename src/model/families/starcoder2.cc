// StarCoder 2 (arXiv:2402.19173): layer norms, biases everywhere, an ungated GELU MLP, possibly a window.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kStarcoder2Bias{.json = {"use_bias"}, .neutral = "*"};  // the tensors tell

}  // namespace

ModelFamily starcoder2() {
  return {.name = "starcoder2",
          .hf = {"Starcoder2ForCausalLM"},
          .gguf = {"starcoder2"},
          .defaults = {.activation = "gelu_pytorch_tanh", .norm_eps = 1e-5, .tied_head = true},
          .fields = {kStarcoder2Bias},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            view.has(kStarcoder2Bias);
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            each_mlp(spec, [&](MlpParams& mlp) {
              mlp.gated = false;
              if (view.gguf()) return;
              mlp.names.up = "model.layers.{}.mlp.c_fc";
              mlp.names.down = "model.layers.{}.mlp.c_proj";
            });
            return spec;
          }};
}

}  // namespace millrace::model::families
