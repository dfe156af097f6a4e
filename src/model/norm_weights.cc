#include "model/norm_weights.h"

#include <vector>

#include "model/weight_loader.h"

namespace millrace::model {

NormWeights::NormWeights(WeightLoader& loader, const std::string& name, const NormSpec& norm, std::int64_t n,
                         backend::Backend& backend)
    : spec(norm) {
  std::vector<float> values(static_cast<std::size_t>(n), 1.0f);
  if (name.empty()) return;
  if (norm.weight) {
    values = loader.vector(name + ".weight", n);
    for (float& value : values) value += norm.offset;
  }
  weight = backend.make_vector(values);
  if (norm.bias) bias = backend.make_vector(loader.vector(name + ".bias", n));
}

}  // namespace millrace::model
