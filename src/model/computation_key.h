#pragma once

#include <cstdint>

#include "model/model_spec.h"

namespace millrace::model {

// A hash of the computation that the spec describes, without the weights. Models whose weights and pages have the same
// sizes can differ in it, for example few large heads and many small ones.
std::uint64_t computation_key(const ModelSpec& spec);

}  // namespace millrace::model
