#pragma once

#include <cstdint>

#include "checkpoint/checkpoint.h"
#include "checkpoint/content_key.h"
#include "model/weights/weight_reader.h"

namespace millrace::model {

// A hash of all that a checkpoint's matrices are computed from: the tensors (checkpoint/content_key.h), codes as well
// as scales, zero points and indices, what the configuration says of them, and the method and version of their reader.
// Files of packed weights, and of keys and values, are kept under it. Reads a few megabytes. Throws LoadError.
std::uint64_t weights_key(const checkpoint::Checkpoint& checkpoint);
// The same with that reader; null: none.
std::uint64_t weights_key(const checkpoint::Checkpoint& checkpoint, const WeightReaderKind* reader);

// The three keys (checkpoint/content_key.h) of what matrices are computed from; `content` is weights_key().
checkpoint::ContentKeys weights_keys(const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::model
