#pragma once

#include <string>

#include "checkpoint/checkpoint.h"

namespace millrace::checkpoint {

// Opens model.safetensors, or every shard that model.safetensors.index.json names, and fills files, tensors and
// tensor_index. Throws LoadError: a shard outside the directory or missing, a tensor missing from its shard or stored
// twice, or a directory that holds pickle files only.
void open_safetensors(Env& env, const std::string& directory, Checkpoint& checkpoint);

}  // namespace millrace::checkpoint
