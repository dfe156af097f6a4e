#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/json_fields.h"
#include "quant/format.h"

// How a checkpoint stores its weight matrices: each in one tensor, or quantized ones in several.

namespace millrace::model {

// Runs of bytes of one tensor: `runs` of them, `bytes` each, `stride` apart, the first at `offset`.
struct TensorRange {
  const checkpoint::RawTensor* tensor = nullptr;
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t runs = 1, stride = 0;
};

// One weight matrix [rows, cols]: rows are outputs. Borrows the checkpoint. Thread-safe.
class StoredWeight {
 public:
  virtual ~StoredWeight() = default;

  // What read() delivers, which need not be what the tensors hold.
  const quant::QuantFormat* format = nullptr;
  // Column j of what read() delivers is column columns[j] of the matrix; empty = as they are.
  std::vector<std::int32_t> columns;
  // All that it is made of.
  std::vector<const checkpoint::RawTensor*> tensors;

  // Rows [first, first + count) as whole blocks of the format. Throws LoadError.
  virtual void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const = 0;
  // What of the tensors those rows need.
  virtual std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const = 0;
};

// A matrix as the checkpoint alone tells it.
struct MatrixInfo {
  std::string name;  // "model.layers.0.mlp.up_proj.weight", however it is stored
  const quant::QuantFormat* format = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::vector<const checkpoint::RawTensor*> tensors = {};  // all that it is made of
};

// The matrices of one checkpoint that are stored in one way.
class WeightReader {
 public:
  virtual ~WeightReader() = default;
  virtual bool has(const std::string& name) const = 0;
  // has(name) holds. `inputs_first`: the family keeps this matrix as [cols, rows] where it is one tensor. Throws
  // LoadError naming the tensor: missing, or of another shape or type.
  virtual std::unique_ptr<StoredWeight> open(const std::string& name, std::int64_t rows, std::int64_t cols,
                                             bool inputs_first) const = 0;
  // Reads no more of the tensors than the formats take to be known. Throws LoadError.
  virtual std::vector<MatrixInfo> matrices() const = 0;
};

// One way of storing quantized matrices in safetensors: one file each in readers/, collected by CMake. Matrices that
// are one tensor of a QuantFormat need none (plain_weights.h).
struct WeightReaderKind {
  std::string_view method;  // quant_method of the configuration: "gptq"
  // Whether it reads what this quantization_config describes. Throws kUnsupported naming what of it cannot be read.
  bool (*accepts)(const checkpoint::JsonFields& quantization, const checkpoint::Checkpoint& checkpoint);
  std::unique_ptr<WeightReader> (*open)(const checkpoint::JsonFields& quantization,
                                        const checkpoint::Checkpoint& checkpoint);
};
std::span<const WeightReaderKind> all_weight_readers();  // generated

}  // namespace millrace::model
