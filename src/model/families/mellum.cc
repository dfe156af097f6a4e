// Mellum 2 (JetBrains): Qwen3's mixture with windows, whose layers rotate by a base of their own.
#include "model/moe_spec.h"

namespace millrace::model::families {

ModelFamily mellum() {
  return {.name = "mellum",
          .hf = {"MellumForCausalLM"},
          .gguf = {"mellum"},
          .defaults = {.json = R"({"head_dim": 128, "sliding_window": 1024, "moe_intermediate_size": 896,
                                   "rope_parameters": {"full_attention": {"rope_theta": 500000.0},
                                                       "sliding_attention": {"rope_theta": 10000.0}}})",
                       .window_period = 1},
          .fields = moe_fields(),
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec_without_mtp(view, config);
            spec.names.ignored.emplace_back("mtp.*");
            add_head_norms(spec);
            use_experts_as_read(view, spec, read_experts(view, spec, {.experts = 64, .chosen = 8}));
            return spec;
          }};
}

}  // namespace millrace::model::families
