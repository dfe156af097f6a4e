// Gemma 3 (arXiv:2503.19786): Gemma 2's layer with norms of heads instead of caps; five layers with a window and a
// rotation of their own to one without.
#include "model/gemma_spec.h"

namespace millrace::model::families {

ModelFamily gemma3() {
  return {.name = "gemma3",
          .hf = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
          .gguf = {"gemma3"},
          .text_types = {{"gemma3_text"}},
          .defaults = {.json = R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
                                   "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
                                   "head_dim": 256, "max_position_embeddings": 131072, "rope_theta": 1000000.0,
                                   "rope_local_base_freq": 10000.0, "sliding_window": 4096,
                                   "query_pre_attn_scalar": 256})",
                       .tied_head = true,
                       .window_period = 6},
          .fields = gemma2_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            // Older GGUF files do not say that the layers with a window rotate otherwise.
            if (!config.sliding_rope)
              config.sliding_rope = RopeConfig{.theta = 10000.0, .dim = config.rope.dim, .scaling = {}};
            ModelSpec spec = gemma2_spec(view, config, 62);
            add_head_norms(spec);
            use_offset_norms(spec, view.gguf());
            return spec;
          }};
}

}  // namespace millrace::model::families
