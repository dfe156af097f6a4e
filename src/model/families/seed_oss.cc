// Seed-OSS (ByteDance): Llama's layer with biases on Q, K and V. Its GGUF files call the MLP's norm the one behind
// attention.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kOutputBias{.json = {"attention_out_bias"}, .neutral = "*"};  // the tensors tell

}  // namespace

ModelFamily seed_oss() {
  return {.name = "seed_oss",
          .hf = {"SeedOssForCausalLM"},
          .gguf = {"seed_oss"},
          .defaults = {.attention_bias = true},
          .fields = {kOutputBias},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            view.has(kOutputBias);
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) each_mlp(spec, [](MlpParams& mlp) { mlp.names.norm = "blk.{}.post_attention_norm"; });
            return spec;
          }};
}

}  // namespace millrace::model::families
