// The Llama layer with a shortcut behind it.
#include "model/blocks/shortcut.h"
#include "model/llama_spec.h"

namespace millrace::model::families {

ModelFamily detour() {
  return {.name = "detour",
          .hf = {"DetourForCausalLM"},
          .gguf = {},
          .defaults = {},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            ModelSpec spec = llama_spec(view, config);
            for (LayerSpec& layer : spec.layers)
              layer.blocks.push_back(ShortcutParams{config.hidden_size, "model.layers.{}.shortcut"});
            return spec;
          }};
}

}  // namespace millrace::model::families
