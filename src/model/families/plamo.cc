// PLaMo 1 (Preferred Networks, 2023): Llama's layer with attention and MLP behind one norm. Query heads take the
// key/value heads by turns; in GGUF those that share one lie side by side.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kPlamoShared{.json = {"n_shared_head"}, .neutral = "*"};  // query heads of a group

}  // namespace

ModelFamily plamo() {
  return {.name = "plamo",
          .hf = {"PlamoForCausalLM"},
          .gguf = {"plamo"},
          .defaults = {.json = R"({"n_shared_head": 8, "max_position_embeddings": 2048})", .code_is_known = true},
          .fields = {kPlamoShared},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& read) {
            ModelConfig config = read;
            // The class does not use num_key_value_heads, of which files say 40 where there are 5.
            if (const auto shared = view.integer(kPlamoShared, checkpoint::kCounts)) {
              config.n_kv_heads = (config.n_heads + *shared - 1) / *shared;
            }
            ModelSpec spec = llama_spec(view, config);
            if (!view.gguf()) {
              spec.names.renamed.emplace_back("model.layers.", "model.layers.layers.");
              each_attention(spec, [](AttentionParams& a) {
                a.names.norm = "model.layers.{}.norm";
                a.heads_by_turns = true;
              });
            }
            run_behind_one_norm(spec);
            return spec;
          }};
}

}  // namespace millrace::model::families
