#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "model/transformer.h"

namespace millrace::runtime {

// Gives the weights whose activations int8 rounds too coarsely a second term. They are found by running a short text
// through the model at its first start and remembered beside the other caches, by `model_key` (checkpoint::content_key)
// and this build. The transformer runs on the backend and is of the checkpoint.
void apply_outlier_policy(const checkpoint::Checkpoint& checkpoint, backend::Backend& backend,
                          model::Transformer& transformer, std::uint64_t model_key);

}  // namespace millrace::runtime
