// openPangu Embedded 1B and 7B (Huawei): Llama's layer, with biases of its attention.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kPanguBias{.json = {"bias"}, .neutral = "*"};  // the tensors tell

}  // namespace

ModelFamily pangu_embedded() {
  return {.name = "pangu_embedded",
          .hf = {"PanguEmbeddedForCausalLM"},
          .gguf = {"pangu-embedded"},
          .defaults = {.norm_eps = 1e-5, .code_is_known = true},
          .fields = {kPanguBias},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            view.has(kPanguBias);
            return llama_spec(view, config);
          }};
}

}  // namespace millrace::model::families
