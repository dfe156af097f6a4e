#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/safetensors_reader.h"

namespace millrace::checkpoint {

// Opens model.safetensors, or every shard that model.safetensors.index.json names, and fills files, tensors and
// tensor_index. Throws LoadError: a shard outside the directory or missing, a tensor missing from its shard or stored
// twice, or a directory that holds pickle files only. `integers`: see read_safetensors_header.
void open_safetensors(Env& env, const std::string& directory, Checkpoint& checkpoint,
                      std::vector<IntegerTensor>* integers = nullptr);
// Adds what one file holds.
void add_safetensors(std::unique_ptr<RandomAccessFile> file, Checkpoint& checkpoint,
                     std::vector<IntegerTensor>* integers = nullptr);

}  // namespace millrace::checkpoint
