#pragma once

#include <memory>
#include <mutex>
#include <span>
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
  // Quantized ones, each whole, and then the others: tensors of rank 2 that are no part of a quantized matrix. Found
  // out once, as it reads some of the tensors. Throws LoadError.
  std::span<const MatrixInfo> matrices() const;

 private:
  std::unique_ptr<WeightReader> quantized_, plain_;  // quantized_ may be null
  mutable std::once_flag listed_;
  mutable std::vector<MatrixInfo> matrices_;
};

// Throws LoadError where no reader accepts the checkpoint's quantization_config. Reads no tensor.
void check_quantization(const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::model
