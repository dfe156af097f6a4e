#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "tensor/shape.h"

namespace millrace::checkpoint {

// A shape of these dimensions, whose product does not overflow. Those past Shape::kMaxRank are folded into the last
// one: filters over videos have five, weights of text models never.
inline Shape folded_shape(std::span<const std::int64_t> dims) {
  Shape shape;
  const std::size_t kept = std::min<std::size_t>(dims.size(), Shape::kMaxRank);
  for (std::size_t i = 0; i < kept; ++i) {
    std::int64_t dim = dims[i];
    for (std::size_t j = kept; i + 1 == kept && j < dims.size(); ++j) dim *= dims[j];
    shape.append(dim);
  }
  return shape;
}

}  // namespace millrace::checkpoint
