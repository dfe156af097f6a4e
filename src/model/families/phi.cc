// Phi 1, 1.5 and 2 (arXiv:2306.11644, arXiv:2309.05463): layer norms, attention and MLP in parallel behind one norm,
// biases everywhere, partial rotation.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kPhiHeadNorm{.json = {"qk_layernorm"}};

void name_phi(ModelSpec& spec) {
  spec.names.final_norm = "model.final_layernorm";
  each_attention(spec, [](AttentionParams& a) { a.names.o = "model.layers.{}.self_attn.dense"; });
  each_mlp(spec, [](MlpParams& mlp) {
    mlp.names.up = "model.layers.{}.mlp.fc1";
    mlp.names.down = "model.layers.{}.mlp.fc2";
  });
}

}  // namespace

ModelFamily phi() {
  return {.name = "phi",
          .hf = {"PhiForCausalLM"},
          .gguf = {"phi2"},
          .defaults = {.activation = "gelu_new",
                       .json = R"({"partial_rotary_factor": 0.5})",
                       .norm_eps = 1e-5,
                       .attention_bias = true,
                       .mlp_bias = true},
          .fields = {kPhiHeadNorm},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            if (view.boolean(kPhiHeadNorm).value_or(false)) view.unsupported(kPhiHeadNorm, "true is not supported");
            ModelSpec spec = llama_spec(view, config);
            if (!view.gguf()) name_phi(spec);
            use_layer_norms(spec, true);
            run_behind_one_norm(spec);
            each_mlp(spec, [](MlpParams& mlp) { mlp.gated = false; });
            return spec;
          }};
}

}  // namespace millrace::model::families
