#include "model/cohere_spec.h"

namespace millrace::model {

ModelSpec cohere_spec(checkpoint::ConfigView& view, const ModelConfig& config) {
  ModelSpec spec = llama_spec(view, config);
  keep_rotary_pairs(spec);
  use_layer_norms(spec, false);
  run_behind_one_norm(spec);
  spec.logit_scale = static_cast<float>(view.positive_number(kLogitScale).value_or(1.0));
  return spec;
}

}  // namespace millrace::model
