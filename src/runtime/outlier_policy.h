#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "model/transformer.h"

namespace millrace::runtime {

// Selects residual int8 (int8x2) for the weights whose activations have outliers that int8 rounds too coarsely. Finds
// them by running a text of at most 64 tokens through the model, and keeps their names in the cache directory by
// `model_key` (LoadedModel::weights_key) and build_commit(). A build with uncommitted changes keeps nothing. Errors of
// the cache are only logged. `transformer` must be that of `checkpoint`, and must not compute meanwhile.
void apply_outlier_policy(const checkpoint::Checkpoint& checkpoint, model::Transformer& transformer,
                          std::uint64_t model_key);

}  // namespace millrace::runtime
