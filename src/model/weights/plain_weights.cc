#include "model/weights/plain_weights.h"

#include <cstring>
#include <mutex>

#include "base/error.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;

class PlainWeight final : public StoredWeight {
 public:
  PlainWeight(const Checkpoint& checkpoint, const RawTensor& tensor)
      : checkpoint_(checkpoint), tensor_(tensor), row_bytes_(tensor.format->row_bytes(tensor.shape[1])) {
    format = tensor.format;
    tensors = {&tensor};
  }
  void read(std::int64_t first, std::int64_t, std::span<std::byte> out) const override {
    checkpoint_.read(tensor_, row_bytes_ * static_cast<std::size_t>(first), out).or_throw();
  }
  std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const override {
    return {{&tensor_, row_bytes_ * static_cast<std::uint64_t>(first), row_bytes_ * static_cast<std::uint64_t>(count)}};
  }

 private:
  const Checkpoint& checkpoint_;
  const RawTensor& tensor_;
  std::size_t row_bytes_;
};

// Stored as [cols, rows]. Only dense formats: a block would run along the wrong dimension.
class TransposedWeight final : public StoredWeight {
 public:
  TransposedWeight(const Checkpoint& checkpoint, const RawTensor& tensor)
      : checkpoint_(checkpoint), tensor_(tensor), cols_(tensor.shape[0]), rows_(tensor.shape[1]) {
    format = tensor.format;
    tensors = {&tensor};
  }
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const override {
    std::call_once(loaded_, [&] {
      data_.resize(tensor_.bytes);
      checkpoint_.read(tensor_, 0, data_).or_throw();
    });
    const std::size_t width = value_bytes();
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t c = 0; c < cols_; ++c) {
        std::memcpy(out.data() + static_cast<std::size_t>(r * cols_ + c) * width,
                    data_.data() + static_cast<std::size_t>(c * rows_ + first + r) * width, width);
      }
    }
  }
  std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const override {
    const std::uint64_t width = value_bytes();
    return {{&tensor_, width * static_cast<std::uint64_t>(first), width * static_cast<std::uint64_t>(count),
             static_cast<std::uint64_t>(cols_), width * static_cast<std::uint64_t>(rows_)}};
  }

 private:
  std::size_t value_bytes() const noexcept { return static_cast<std::size_t>(tensor_.format->block_bytes); }
  const Checkpoint& checkpoint_;
  const RawTensor& tensor_;
  std::int64_t cols_, rows_;
  mutable std::once_flag loaded_;
  mutable std::vector<std::byte> data_;
};

class PlainWeights final : public WeightReader {
 public:
  explicit PlainWeights(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}
  bool has(const std::string& name) const override { return checkpoint_.find(name) != nullptr; }
  std::unique_ptr<StoredWeight> open(const std::string& name, std::int64_t rows, std::int64_t cols,
                                     bool inputs_first) const override {
    const RawTensor& tensor = require_tensor(checkpoint_, name, inputs_first ? Shape{cols, rows} : Shape{rows, cols});
    if (!inputs_first) return std::make_unique<PlainWeight>(checkpoint_, tensor);
    if (tensor.format->block_values != 1) {
      throw_load_error(ErrorCode::kUnsupported, name,
                       "{}: tensor '{}' is stored as {} with inputs first; only f32, f16 and bf16 can be",
                       checkpoint_.path, name, tensor.format->name);
    }
    return std::make_unique<TransposedWeight>(checkpoint_, tensor);
  }
  std::vector<MatrixInfo> matrices() const override {
    std::vector<MatrixInfo> all;
    for (const RawTensor& tensor : checkpoint_.tensors) {
      if (tensor.shape.rank() != 2) continue;
      all.push_back({tensor.name, tensor.format, tensor.shape[0], tensor.shape[1], {&tensor}});
    }
    return all;
  }

 private:
  const Checkpoint& checkpoint_;
};

}  // namespace

std::unique_ptr<WeightReader> plain_weights(const Checkpoint& checkpoint) {
  return std::make_unique<PlainWeights>(checkpoint);
}

const RawTensor& require_tensor(const Checkpoint& checkpoint, const std::string& name, const Shape& shape) {
  const RawTensor* tensor = checkpoint.find(name);
  if (tensor == nullptr) {
    throw_load_error(ErrorCode::kBadFile, name, "{}: tensor '{}' is missing; expected shape {}", checkpoint.path, name,
                     shape.to_string());
  }
  if (tensor->shape != shape) {
    throw_load_error(ErrorCode::kBadFile, name, "{}: tensor '{}' has shape {}; expected {}", checkpoint.path, name,
                     tensor->shape.to_string(), shape.to_string());
  }
  return *tensor;
}

}  // namespace millrace::model
