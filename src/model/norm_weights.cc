#include "model/norm_weights.h"

#include "model/weight_loader.h"

namespace millrace::model {

NormWeights::NormWeights(WeightLoader& loader, const std::string& name, const ModelSpec& spec,
                         backend::Backend& backend)
    : weight(backend.make_vector(loader.vector(name + ".weight", spec.hidden_size))) {
  if (spec.norm == backend::NormKind::kLayer) {
    bias = backend.make_vector(loader.vector(name + ".bias", spec.hidden_size));
  }
}

}  // namespace millrace::model
