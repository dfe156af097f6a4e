// EXAONE 4 (arXiv:2507.11407): norms behind the blocks alone and of heads; where some layers have windows, the others
// do not rotate.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr std::string_view kExaone4Text = R"({"vocab_size": 102400, "hidden_size": 4096, "intermediate_size": 16384,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 2048,
    "sliding_window": 4096})";

}  // namespace

ModelFamily exaone4() {
  return {.name = "exaone4",
          .hf = {"Exaone4ForCausalLM"},
          .gguf = {"exaone4"},
          .text_types = {{"exaone4", kExaone4Text}, {"exaone4_5_text", kExaone4Text}},
          .defaults = {.norm_eps = 1e-5, .window_period = 4},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            add_post_norms(spec, view.gguf(), "post_attention_layernorm", "post_feedforward_layernorm");
            add_head_norms(spec);
            each_attention(spec, [&](AttentionParams& a) {
              if (config.sliding_window > 0 && a.window == 0) a.rope = -1;
            });
            drop_input_norms(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
