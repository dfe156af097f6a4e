#pragma once

#include <cstdint>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// A hash of the content of a model's weights, made of the tensor directory, the files' sizes and modification times,
// a few kilobytes of every tensor, and the adapters that are merged into them. It reads a few megabytes. Different
// models have equal keys only by chance (2^-64) or by intent. Throws LoadError if a file cannot be read.
std::uint64_t content_key(const Checkpoint& checkpoint);

struct ContentKeys {
  std::uint64_t content = 0;  // content_key()
  std::uint64_t copies = 0;   // the same without modification times: also of copies of the files
  std::uint64_t times = 0;    // of modification times alone
};
// All of them, at the cost of one.
ContentKeys content_keys(const Checkpoint& checkpoint);

// A hash of all bytes of the files, which it reads. Throws LoadError.
std::uint64_t whole_key(const Checkpoint& checkpoint);

}  // namespace millrace::checkpoint
