#include "model/weights/plain_weights.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;

class PlainWeight final : public StoredWeight {
 public:
  PlainWeight(const Checkpoint& checkpoint, const RawTensor& tensor)
      : checkpoint_(checkpoint), tensor_(tensor), row_bytes_(tensor.format->row_bytes(tensor.shape.back())) {
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

// Stored as [cols, rows], or as many of these. Only dense formats: a block would run along the wrong dimension. The
// last few matrices that were read are kept, as many as workers may be in.
class TransposedWeight final : public StoredWeight {
 public:
  TransposedWeight(const Checkpoint& checkpoint, const RawTensor& tensor, const MatrixShape& shape)
      : checkpoint_(checkpoint), tensor_(tensor), cols_(shape.cols), rows_(shape.rows) {
    format = tensor.format;
    tensors = {&tensor};
  }
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const override {
    const std::shared_ptr<const std::vector<std::byte>> matrix = read_matrix(first / rows_);
    const std::size_t width = value_bytes();
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t c = 0; c < cols_; ++c) {
        std::memcpy(out.data() + static_cast<std::size_t>(r * cols_ + c) * width,
                    matrix->data() + static_cast<std::size_t>(c * rows_ + first % rows_ + r) * width, width);
      }
    }
  }
  std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const override {
    const std::uint64_t width = value_bytes();
    const auto at = static_cast<std::uint64_t>(first / rows_ * rows_ * cols_ + first % rows_);
    return {{&tensor_, width * at, width * static_cast<std::uint64_t>(count), static_cast<std::uint64_t>(cols_),
             width * static_cast<std::uint64_t>(rows_)}};
  }

 private:
  static constexpr std::size_t kKept = 4;

  struct Kept {
    std::int64_t matrix = -1;
    std::shared_ptr<const std::vector<std::byte>> data;
  };
  std::shared_ptr<const std::vector<std::byte>> read_matrix(std::int64_t matrix) const {
    const std::lock_guard lock(mutex_);
    for (const Kept& kept : kept_) {
      if (kept.matrix == matrix) return kept.data;
    }
    const std::size_t bytes = static_cast<std::size_t>(rows_ * cols_) * value_bytes();
    auto data = std::make_shared<std::vector<std::byte>>(bytes);
    checkpoint_.read(tensor_, static_cast<std::size_t>(matrix) * bytes, *data).or_throw();
    kept_[next_++ % kKept] = {matrix, data};
    return data;
  }
  std::size_t value_bytes() const noexcept { return static_cast<std::size_t>(tensor_.format->block_bytes); }
  const Checkpoint& checkpoint_;
  const RawTensor& tensor_;
  std::int64_t cols_, rows_;
  mutable std::mutex mutex_;
  mutable std::size_t next_ = 0;
  mutable std::array<Kept, kKept> kept_;
};

// What llama.cpp's files have beside a `<name>.weight`: `<name>.scale`, one factor of the matrix or one for each expert
// (of NVFP4, and of BitNet's ternary weights), and `<name>.input_scale`, which only products with activations of four
// bits need.
void add_factors(const Checkpoint& checkpoint, const std::string& name, std::int64_t experts, StoredWeight& weight) {
  constexpr std::string_view kWeight = ".weight";
  if (checkpoint.container != Checkpoint::Container::kGguf || !name.ends_with(kWeight)) return;
  const std::string stem = name.substr(0, name.size() - kWeight.size());
  if (const RawTensor* unused = checkpoint.find(stem + ".input_scale")) weight.tensors.push_back(unused);
  if (checkpoint.find(stem + ".scale") == nullptr) return;
  const RawTensor& scale = require_tensor(checkpoint, stem + ".scale", Shape{std::max<std::int64_t>(experts, 1)});
  std::vector<std::byte> stored(scale.bytes);
  checkpoint.read(scale, 0, stored).or_throw();
  weight.factors.resize(static_cast<std::size_t>(scale.shape.elements()));
  scale.format->unpack(stored.data(), weight.factors);
  weight.tensors.push_back(&scale);
}

// The shape of the tensor.
Shape stored_shape(const MatrixShape& shape) {
  Shape stored;
  if (shape.experts > 0) stored.append(shape.experts);
  stored.append(shape.inputs_first ? shape.cols : shape.rows);
  stored.append(shape.inputs_first ? shape.rows : shape.cols);
  return stored;
}

class PlainWeights final : public WeightReader {
 public:
  explicit PlainWeights(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}
  bool has(const std::string& name) const override { return checkpoint_.find(name) != nullptr; }
  std::unique_ptr<StoredWeight> open(const std::string& name, const MatrixShape& shape) const override {
    std::unique_ptr<StoredWeight> weight = open_tensor(name, shape);
    add_factors(checkpoint_, name, shape.experts, *weight);
    return weight;
  }
  std::vector<MatrixInfo> matrices() const override {
    std::vector<MatrixInfo> all;
    for (const RawTensor& tensor : checkpoint_.tensors) {
      if (tensor.shape.rank() != 2 && tensor.shape.rank() != 3) continue;
      all.push_back({tensor.name, tensor.format, tensor.shape.rows(), tensor.shape.back(), {&tensor}});
    }
    return all;
  }

 private:
  std::unique_ptr<StoredWeight> open_tensor(const std::string& name, const MatrixShape& shape) const {
    const RawTensor* row = shape.rows == 1 && shape.experts == 0 ? checkpoint_.find(name) : nullptr;
    if (row != nullptr && row->shape == Shape{shape.cols}) return std::make_unique<PlainWeight>(checkpoint_, *row);
    const RawTensor& tensor = require_tensor(checkpoint_, name, stored_shape(shape));
    if (!shape.inputs_first) return std::make_unique<PlainWeight>(checkpoint_, tensor);
    if (tensor.format->block_values != 1) {
      throw_load_error(ErrorCode::kUnsupported, name,
                       "{}: tensor '{}' is stored as {} with inputs first; only f32, f16 and bf16 can be",
                       checkpoint_.path, name, tensor.format->name);
    }
    return std::make_unique<TransposedWeight>(checkpoint_, tensor, shape);
  }
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
