// GPT-NeoX and Pythia (arXiv:2204.06745, arXiv:2304.01373): layer norms, biases everywhere, attention and MLP in
// parallel, each behind its own norm, partial rotation.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kGptNeoxParallel{
    .json = {"use_parallel_residual"}, .gguf = {"use_parallel_residual"}, .neutral = "true"};

void name_gpt_neox(ModelSpec& spec) {
  const std::string layer = "gpt_neox.layers.{}.";
  spec.names.embedding = "gpt_neox.embed_in";
  spec.names.final_norm = "gpt_neox.final_layer_norm";
  spec.names.head = "embed_out";
  spec.names.ignored = {"*.attention.bias", "*.attention.masked_bias", "*.rotary_emb.inv_freq"};
  each_attention(spec, [&](AttentionParams& a) {
    a.fused = FusedQkv::kGrouped;
    a.names = {
        .norm = layer + "input_layernorm", .qkv = layer + "attention.query_key_value", .o = layer + "attention.dense"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {.norm = layer + "post_attention_layernorm",
                 .up = layer + "mlp.dense_h_to_4h",
                 .down = layer + "mlp.dense_4h_to_h"};
  });
}

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
            if (!view.gguf()) name_gpt_neox(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
