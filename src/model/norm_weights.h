#pragma once

#include <string>

#include "backend/backend.h"
#include "model/model_spec.h"

namespace millrace::model {

class WeightLoader;

// A norm's weights: `name`.weight, and for a layer norm `name`.bias, [E].
struct NormWeights {
  backend::DeviceVector weight, bias;

  NormWeights() = default;
  // Throws LoadError naming tensor, expected and found.
  NormWeights(WeightLoader& loader, const std::string& name, const ModelSpec& spec, backend::Backend& backend);
  bool empty() const noexcept { return weight.empty(); }
  // Borrows. Of no weights: the norm that leaves rows as they are, where the backend takes the rows of a product.
  backend::Norm view(const ModelSpec& spec) const { return view(spec.norm, spec.norm_eps); }
  backend::Norm view(backend::NormKind kind, float eps) const { return {kind, eps, weight.address(), bias.address()}; }
};

}  // namespace millrace::model
