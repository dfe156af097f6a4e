#pragma once

#include <cstdint>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// A hash of the content of a model's weights, made of the tensor directory, the files' sizes and modification times,
// a few kilobytes of every tensor, and the adapters that are merged into them. It reads a few megabytes. Different
// models have equal keys only by chance (2^-64) or by intent. Throws LoadError if a file cannot be read.
std::uint64_t content_key(const Checkpoint& checkpoint);

}  // namespace millrace::checkpoint
