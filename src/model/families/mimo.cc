// MiMo (arXiv:2505.07608): Qwen2's layers. Beside them lie layers for multi-token prediction, which speculation reads.
#include "model/llama_spec.h"

namespace millrace::model::families {
namespace {

constexpr checkpoint::ConfigField kPredictingLayers{.json = {"num_nextn_predict_layers"}};

}  // namespace

ModelFamily mimo() {
  return {.name = "mimo",
          .hf = {"MiMoForCausalLM"},
          .gguf = {},
          .defaults = {.code_is_known = true},
          .fields = {kPredictingLayers},
          .spec = [](checkpoint::ConfigView& view, const ModelConfig& config) {
            view.integer(kPredictingLayers, {0, checkpoint::kMaxCount});  // the base model does without
            ModelSpec spec = llama_spec(view, config);
            spec.names.ignored.emplace_back("model.mtp_layers.*");
            return spec;
          }};
}

}  // namespace millrace::model::families
