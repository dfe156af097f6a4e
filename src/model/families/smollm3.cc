// SmolLM3 (Hugging Face): Llama's layer; every fourth does not rotate.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kRotates{.json = {"no_rope_layers"}, .neutral = "*"};  // 1: it does
constexpr checkpoint::ConfigField kInterval{.json = {"no_rope_layer_interval"}, .neutral = "*"};

}  // namespace

ModelFamily smollm3() {
  return {.name = "smollm3",
          .hf = {"SmolLM3ForCausalLM"},
          .gguf = {"smollm3"},
          .defaults = {.json = R"({"rope_theta": 2000000.0})", .tied_head = true, .windows = false},
          .fields = {kRotates, kInterval},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            if (view.gguf()) keep_rotary_pairs(spec);
            const std::int64_t interval = view.integer(kInterval, checkpoint::kCounts).value_or(4);
            const auto rotates = view.integers(kRotates, config.n_layers, {0, 1});
            for (std::size_t i = 0; i < spec.layers.size(); ++i) {
              const bool rotated = rotates ? (*rotates)[i] == 1 : (static_cast<std::int64_t>(i) + 1) % interval != 0;
              if (!rotated) spec.layers[i].get<AttentionParams>().rope = -1;
            }
            return spec;
          }};
}

}  // namespace millrace::model::families
