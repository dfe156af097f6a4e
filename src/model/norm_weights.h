#pragma once

#include <string>

#include "backend/backend.h"
#include "model/model_spec.h"

namespace millrace::model {

class WeightLoader;

// A norm's weights, each [E]: `name`.weight and, for a layer norm, `name`.bias.
struct NormWeights {
  backend::DeviceVector weight, bias;

  NormWeights() = default;
  // Throws LoadError naming tensor, expected and found shape.
  NormWeights(WeightLoader& loader, const std::string& name, const ModelSpec& spec, backend::Backend& backend);
  bool empty() const noexcept { return weight.empty(); }
  // A view of this object's weights. Without weights it is the identity, where the backend takes a norm before a
  // product.
  backend::Norm view(const ModelSpec& spec) const { return view(spec.norm, spec.norm_eps); }
  backend::Norm view(backend::NormKind kind, float eps) const { return {kind, eps, weight.address(), bias.address()}; }
};

}  // namespace millrace::model
