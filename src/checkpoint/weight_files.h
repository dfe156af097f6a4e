#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/integer_tensor.h"

namespace millrace::checkpoint {

// A container of tensors, and the names of its files in a repository of Hugging Face.
struct WeightContainer {
  Checkpoint::Container container;
  std::string_view single, index;  // file with all tensors; file that maps tensors to shards
  std::string_view extension;      // of shard files
  std::string_view own_extension;  // of a file with the stem `own_stem` of open_weights()
  std::vector<RawTensor> (*read)(const RandomAccessFile&, std::vector<IntegerTensor>*);
};
// All containers in order of preference: if a directory has files of one, later ones are ignored.
std::span<const WeightContainer> weight_containers();

// The stem under which heads of Medusa are published.
inline constexpr std::string_view kMedusaStem = "medusa_lm_head";

// Opens the weights of a directory: the single file of the preferred container, or its index and shards. If `own_stem`
// is not empty, a file of that stem is preferred to all. Fills container, files, tensors and tensor_index; `integers`
// is that of read_safetensors_header(). Throws LoadError for a shard that is missing or outside the directory, a tensor
// that is missing from its shard or stored twice, and a directory without weights.
void open_weights(Env& env, const std::string& directory, Checkpoint& checkpoint,
                  std::vector<IntegerTensor>* integers = nullptr, std::string_view own_stem = {});

}  // namespace millrace::checkpoint
