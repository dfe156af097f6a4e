#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/weights/weight_reader.h"

namespace millrace::model {

// The matrices of a checkpoint, however each is stored: quantized ones by the reader that accepts its
// quantization_config, all others as they are. Borrows the checkpoint.
class CheckpointWeights {
 public:
  // Throws LoadError: a quantization_config that no reader accepts.
  explicit CheckpointWeights(const checkpoint::Checkpoint& checkpoint);

  bool has(const std::string& name) const;
  // See WeightReader::open. A name that is nowhere is a LoadError, too.
  std::unique_ptr<StoredWeight> open(const std::string& name, std::int64_t rows, std::int64_t cols,
                                     bool inputs_first = false) const;
  // Quantized ones, each whole.
  std::vector<MatrixInfo> quantized_matrices() const;
  // The others: tensors of rank 2 that are no part of a quantized matrix, as stored.
  std::vector<MatrixInfo> plain_matrices() const;

 private:
  std::unique_ptr<WeightReader> quantized_, plain_;  // quantized_ may be null
};

}  // namespace millrace::model
