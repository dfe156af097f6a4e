#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/weights/stored_tensors.h"
#include "model/weights/weight_reader.h"

namespace millrace::model {

// A quantized matrix that its reader has opened. Its shape follows from the tensors alone.
struct OpenedMatrix {
  std::int64_t rows = 0, cols = 0;
  std::unique_ptr<StoredWeight> weight;
};

// What readers of matrices have in common whose tensors are "<module>.<ending>", one matrix each: the matrix is called
// "<module>.weight".
class MatrixReader : public WeightReader {
 public:
  bool has(const std::string& name) const final;
  std::unique_ptr<StoredWeight> open(const std::string& name, const MatrixShape& shape) const final;
  std::vector<MatrixInfo> matrices() const final;

 private:
  OpenedMatrix open_checked(const std::string& module) const;

 protected:
  explicit MatrixReader(const checkpoint::Checkpoint& checkpoint) : tensors_(checkpoint) {}
  // The modules that have quantized weights.
  virtual std::vector<std::string> modules() const = 0;
  virtual bool has_module(const std::string& module) const = 0;
  // Throws LoadError naming the tensor that is missing or has another type or shape.
  virtual OpenedMatrix open_module(const std::string& module) const = 0;

  StoredTensors tensors_;
};

}  // namespace millrace::model
