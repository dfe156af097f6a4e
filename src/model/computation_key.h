#pragma once

#include <cstdint>

#include "model/model_spec.h"

namespace millrace::model {

// A hash of what is computed with a model's weights, as its configuration says it. The same weights read as few large
// heads or as many small ones are two models, although shapes of weights and sizes of pages may be the same.
std::uint64_t computation_key(const ModelSpec& spec);

}  // namespace millrace::model
