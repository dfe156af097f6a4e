#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "model/transformer.h"

namespace millrace::runtime {

// Adds a second int8 term to the products whose activations one int8 term rounds too coarsely. They are found by
// running a short text through the model at its first start, and stored in the cache directory under `model_key`
// (checkpoint::content_key) and this build. `transformer` was loaded from `checkpoint` on `backend`.
void apply_outlier_policy(const checkpoint::Checkpoint& checkpoint, backend::Backend& backend,
                          model::Transformer& transformer, std::uint64_t model_key);

}  // namespace millrace::runtime
