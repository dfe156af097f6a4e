// StarCoder and SantaCoder (arXiv:2305.06161): GPT-2's layer with one key/value head.
#include "model/gpt2_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kGptBigcodeMultiQuery{.json = {"multi_query"}, .neutral = "true"};

std::vector<checkpoint::ConfigField> gpt_bigcode_fields() {
  std::vector<checkpoint::ConfigField> all = gpt2_fields();
  all.push_back(kGptBigcodeMultiQuery);
  return all;
}

}  // namespace

ModelFamily gpt_bigcode() {
  return {.name = "gpt_bigcode",
          .hf = {"GPTBigCodeForCausalLM"},
          .gguf = {"starcoder"},
          .defaults = gpt2_defaults("gelu_pytorch_tanh"),
          .fields = gpt_bigcode_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            reject_gpt2_variants(view);
            ModelConfig config = read;
            const bool one = view.gguf() || view.boolean(kGptBigcodeMultiQuery).value_or(true);
            if (!view.gguf()) config.n_kv_heads = one ? 1 : config.n_heads;
            ModelSpec spec = gpt2_spec(view, config);
            if (!one) each_attention(spec, [](AttentionParams& a) { a.fused = FusedQkv::kGrouped; });
            return spec;
          }};
}

}  // namespace millrace::model::families
