// Maincoder 1B (Maincode): Llama's layer with rotary pairs, and norms of heads behind the rotation.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kMaincoderWidth{.json = {"intermediate_size_mlp"}, .neutral = "*"};
constexpr checkpoint::ConfigField kMaincoderNorms{.json = {"use_qk_norm"}, .neutral = "*"};

}  // namespace

ModelFamily maincoder() {
  return {.name = "maincoder",
          .hf = {"MaincoderForCausalLM"},
          .gguf = {"maincoder"},
          .defaults = {.norm_eps = 1e-5, .tied_head = true, .code_is_known = true},
          .fields = {kMaincoderWidth, kMaincoderNorms},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            if (const auto width = view.integer(kMaincoderWidth, checkpoint::kCounts))
              config.intermediate_size = *width;
            ModelSpec spec = llama_spec(view, config);
            keep_rotary_pairs(spec);
            if (!view.boolean(kMaincoderNorms).value_or(true)) return spec;
            add_head_norms(spec);
            each_attention(spec, [](AttentionParams& a) { a.q_k_norm->after_rotation = true; });
            return spec;
          }};
}

}  // namespace millrace::model::families
