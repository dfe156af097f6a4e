#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/env.h"

namespace millrace::checkpoint {

// How large the inputs of a model's matrices were on some text: what an error of a weight counts.
struct ImportanceMatrix {
  std::string path;
  // By the matrix's name in GGUF, "blk.0.attn_q.weight": the mean square of each column's input, finite and not
  // negative; of experts one behind the other. A matrix or expert that saw no token has ones throughout.
  std::map<std::string, std::vector<float>> means;
};

// Reads a file of llama.cpp's tool, in GGUF (tensors NAME.in_sum2 and NAME.counts) or in the older form without a magic
// number. Allocates at most a small multiple of the file's bytes. The error names file, tensor and value: kNotFound, or
// kBadFile for what is truncated, another kind of GGUF file, negative or no number.
Result<ImportanceMatrix> read_importance_matrix(Env& env, const std::string& path);

}  // namespace millrace::checkpoint
