#pragma once

#include <cstdint>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// A number for the content of a model's weights: of the tensor directory, of the files' sizes and times of change, and
// of a few kilobytes of every tensor. Reads a few megabytes. Two models with the same key are the same but by accident
// (2^-64) or by intent. Throws LoadError where a file cannot be read.
std::uint64_t content_key(const Checkpoint& checkpoint);

}  // namespace millrace::checkpoint
