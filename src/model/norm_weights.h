#pragma once

#include <string>

#include "backend/backend.h"
#include "model/norm_spec.h"

namespace millrace::model {

class WeightLoader;

// A norm with its weights, each [n].
struct NormWeights {
  NormSpec spec;
  backend::DeviceVector weight, bias;

  NormWeights() = default;
  // Reads NAME.weight and NAME.bias, where the spec has them. Without a name: no norm. Throws LoadError naming tensor,
  // expected and found shape.
  NormWeights(WeightLoader& loader, const std::string& name, const NormSpec& spec, std::int64_t n,
              backend::Backend& backend);
  bool empty() const noexcept { return weight.empty(); }
  // A view of this object's weights. If it is empty: the identity, where an operation takes a norm.
  backend::Norm view() const { return {spec.kind, spec.eps, weight.address(), bias.address()}; }
};

}  // namespace millrace::model
