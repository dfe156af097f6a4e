// GPT-NeoX and Pythia (arXiv:2204.06745, arXiv:2304.01373): layer norms, biases everywhere, attention and MLP in
// parallel, each behind its own norm, partial rotation.
#include "model/gpt_neox_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kGptNeoxParallel{
    .json = {"use_parallel_residual"}, .gguf = {"use_parallel_residual"}, .neutral = "true"};

}  // namespace

ModelFamily gpt_neox() {
  return {.name = "gpt_neox",
          .hf = {"GPTNeoXForCausalLM"},
          .gguf = {"gptneox"},
          .defaults = {.activation = "gelu",
                       .json = R"({"rotary_pct": 0.25})",
                       .norm_eps = 1e-5,
                       .attention_bias = true,
                       .mlp_bias = true},
          .fields = {kGptNeoxParallel},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            use_layer_norms(spec, true);
            each_mlp(spec, [&](MlpParams& mlp) {
              mlp.gated = false;
              if (view.gguf()) mlp.activation = backend::Activation::kGelu;
            });
            if (view.boolean(kGptNeoxParallel).value_or(true)) run_in_parallel(spec);
            if (view.gguf()) return spec;
            name_gpt_neox(spec, "gpt_neox.");
            spec.names.ignored = {"*.attention.bias", "*.attention.masked_bias", "*.rotary_emb.inv_freq"};
            return spec;
          }};
}

}  // namespace millrace::model::families
