// Qwen 1 (arXiv:2309.16609): Llama's layer with biases of queries, keys and values, under names of its own.
#include "model/llama_spec.h"

#include <algorithm>

namespace millrace::model::families {
namespace {

using checkpoint::ConfigField;

constexpr ConfigField kQwenBias{.json = {"no_bias"}, .neutral = "true"};  // the tensors tell
// Beyond the length of training, the base grows and queries are scaled.
constexpr ConfigField kNtk{.json = {"use_dynamic_ntk"}};
constexpr ConfigField kLogn{.json = {"use_logn_attn"}};
constexpr ConfigField kTrained{.json = {"seq_length"}, .neutral = "*"};

void name_qwen(ModelSpec& spec) {
  const std::string layer = "transformer.h.{}.";
  spec.names.embedding = "transformer.wte";
  spec.names.final_norm = "transformer.ln_f";
  for (const char* ignored : {"*.attn.masked_bias", "*.attn.bias", "transformer.visual.*"}) {
    spec.names.ignored.emplace_back(ignored);
  }
  each_attention(spec, [&](AttentionParams& a) {
    a.names = {.norm = layer + "ln_1", .qkv = layer + "attn.c_attn", .o = layer + "attn.c_proj"};
  });
  each_mlp(spec, [&](MlpParams& mlp) {
    mlp.names = {
        .norm = layer + "ln_2", .gate = layer + "mlp.w2", .up = layer + "mlp.w1", .down = layer + "mlp.c_proj"};
  });
}

}  // namespace

ModelFamily qwen() {
  return {.name = "qwen",
          .hf = {"QWenLMHeadModel"},
          .gguf = {"qwen"},
          .defaults = {.attention_bias = true, .code_is_known = true},
          .fields = {kQwenBias, kNtk, kLogn, kTrained},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            view.has(kQwenBias);
            ModelConfig config = read;
            config.intermediate_size /= 2;  // it counts gate and up
            const bool ntk = view.boolean(kNtk).value_or(false), logn = view.boolean(kLogn).value_or(false);
            const auto trained = view.integer(kTrained, checkpoint::kCounts);
            // Neither changes anything up to the length of training, where a sequence ends here.
            if ((ntk || logn) && trained) config.context_length = std::min(config.context_length, *trained);
            ModelSpec spec = llama_spec(view, config);
            if (!view.gguf()) name_qwen(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
