#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "model/weights/weight_reader.h"

namespace millrace::model {

// The weight matrices of a checkpoint, however each is stored: quantized ones through the reader that accepts its
// quantization_config, all others directly. The checkpoint must outlive it.
class CheckpointWeights {
 public:
  // Throws LoadError if no reader accepts the quantization_config.
  explicit CheckpointWeights(const checkpoint::Checkpoint& checkpoint);

  bool has(const std::string& name) const;
  // Opens a matrix; see WeightReader::open. Throws LoadError also for an unknown name.
  std::unique_ptr<StoredWeight> open(const std::string& name, const MatrixShape& shape) const;
  // All quantized matrices, then the other tensors of rank 2 and 3, whose rows are those of all matrices together.
  // Computed in the first call, which reads some tensors. Throws LoadError.
  std::span<const MatrixInfo> matrices() const;

 private:
  std::unique_ptr<WeightReader> quantized_, plain_;  // quantized_ may be null
  mutable std::once_flag listed_;
  mutable std::vector<MatrixInfo> matrices_;
};

// The reader that accepts the checkpoint's quantization_config; null: there is none. Throws LoadError if no reader
// accepts it. Reads no tensor.
const WeightReaderKind* find_reader(const checkpoint::Checkpoint& checkpoint);

}  // namespace millrace::model
