#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/integer_tensor.h"

namespace millrace::checkpoint {

// A container of tensors, and what its files are called in a repository of Hugging Face's.
struct WeightContainer {
  Checkpoint::Container container;
  std::string_view single, index;  // all tensors in one file; which of several shards holds which
  std::string_view extension;      // of shards
  std::string_view own_extension;  // of a file of another name: see open_weights
  std::vector<RawTensor> (*read)(const RandomAccessFile&, std::vector<IntegerTensor>*);
};
// All containers, the preferred ones first. Where there is one, no later one is looked at.
std::span<const WeightContainer> weight_containers();

// Heads of Medusa are published under this name, beside no other weights.
inline constexpr std::string_view kMedusaStem = "medusa_lm_head";

// Opens the weights of a directory: the first container's file or, by its index, shards. Fills container, files,
// tensors and tensor_index. Before others, a file called `own_stem` is looked for if it is not empty. Throws LoadError:
// a shard outside the directory or missing, a tensor missing from its shard or stored twice, or a directory without
// any. `integers`: see read_safetensors_header.
void open_weights(Env& env, const std::string& directory, Checkpoint& checkpoint,
                  std::vector<IntegerTensor>* integers = nullptr, std::string_view own_stem = {});

}  // namespace millrace::checkpoint
