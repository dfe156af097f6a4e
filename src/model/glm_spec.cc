#include "model/glm_spec.h"

namespace millrace::model {

ModelSpec glm_spec(checkpoint::ConfigView& view, const ModelConfig& config) {
  ModelSpec spec = llama_spec(view, config);
  keep_rotary_pairs(spec);
  if (view.gguf()) each_mlp(spec, [](MlpParams& mlp) { mlp.names.gate_up = "blk.{}.ffn_up"; });
  return spec;
}

}  // namespace millrace::model
