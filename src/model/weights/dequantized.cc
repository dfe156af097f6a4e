#include "model/weights/dequantized.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/make_spec.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;

// Of a checkpoint and its weights, which point into it.
struct Quantized {
  std::unique_ptr<Checkpoint> checkpoint;
  std::optional<CheckpointWeights> weights;
};

// The values of a matrix as f32, row by row. The last few groups of rows that were read are kept, as many as workers
// may be in. All threads.
class MatrixValues final : public RandomAccessFile {
 public:
  MatrixValues(std::shared_ptr<const Quantized> owner, const MatrixInfo& matrix)
      : owner_(std::move(owner)),
        stored_(owner_->weights->open(matrix.name, {.rows = matrix.rows, .cols = matrix.cols})),
        rows_(matrix.rows),
        cols_(matrix.cols) {}

  std::uint64_t size() const noexcept override { return static_cast<std::uint64_t>(rows_ * cols_) * sizeof(float); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  const std::string& path() const noexcept override { return owner_->checkpoint->path; }

 private:
  static constexpr std::int64_t kGroup = 64;
  static constexpr std::size_t kKept = 4;
  using Values = std::shared_ptr<const std::vector<float>>;
  struct Kept {
    std::int64_t group = -1;
    Values values;
  };
  Values group(std::int64_t number) const;
  std::vector<float> compute(std::int64_t first, std::int64_t count) const;

  const std::shared_ptr<const Quantized> owner_;
  const std::unique_ptr<StoredWeight> stored_;
  const std::int64_t rows_, cols_;
  mutable std::mutex mutex_;
  mutable std::size_t next_ = 0;
  mutable std::array<Kept, kKept> kept_;
};

std::vector<float> MatrixValues::compute(std::int64_t first, std::int64_t count) const {
  const auto cols = static_cast<std::size_t>(cols_), n = static_cast<std::size_t>(count);
  const std::size_t row_bytes = stored_->format->row_bytes(cols_);
  std::vector<std::byte> rows(n * row_bytes);
  stored_->read(first, count, rows);
  std::vector<float> values(n * cols), row(cols);
  const float factor = stored_->factors.empty() ? 1.0f : stored_->factors.front();
  for (std::size_t r = 0; r < n; ++r) {
    stored_->format->unpack(rows.data() + r * row_bytes, row);
    for (std::size_t c = 0; c < cols; ++c) {
      const std::size_t to = stored_->columns.empty() ? c : static_cast<std::size_t>(stored_->columns[c]);
      values[r * cols + to] = factor * row[c];
    }
  }
  return values;
}

MatrixValues::Values MatrixValues::group(std::int64_t number) const {
  {
    const std::lock_guard lock(mutex_);
    for (const Kept& kept : kept_) {
      if (kept.group == number) return kept.values;
    }
  }
  const std::int64_t first = number * kGroup;
  auto values = std::make_shared<const std::vector<float>>(compute(first, std::min(kGroup, rows_ - first)));
  const std::lock_guard lock(mutex_);
  kept_[next_++ % kKept] = {number, values};
  return values;
}

Result<void> MatrixValues::read(std::uint64_t offset, std::span<std::byte> out) const try {
  const std::uint64_t group_bytes = static_cast<std::uint64_t>(kGroup * cols_) * sizeof(float);
  if (offset > size() || out.size() > size() - offset) {
    return make_error(ErrorCode::kBadFile, path(), "{}: a matrix ends at {}, {} bytes expected at {}", path(), size(),
                      out.size(), offset);
  }
  while (!out.empty()) {
    const Values values = group(static_cast<std::int64_t>(offset / group_bytes));
    const auto bytes = std::as_bytes(std::span(*values)).subspan(offset % group_bytes);
    const std::size_t n = std::min(out.size(), bytes.size());
    std::memcpy(out.data(), bytes.data(), n);
    out = out.subspan(n);
    offset += n;
  }
  return {};
} catch (const LoadError& failure) {
  return failure.error();
}

// The matrices that a reader makes of several tensors, or of one in another format.
std::vector<MatrixInfo> quantized_matrices(const CheckpointWeights& weights) {
  std::vector<MatrixInfo> all;
  for (const MatrixInfo& matrix : weights.matrices()) {
    const bool plain = matrix.tensors.size() == 1 && matrix.tensors.front()->name == matrix.name &&
                       matrix.tensors.front()->format == matrix.format;
    if (!plain) all.push_back(matrix);
  }
  return all;
}

}  // namespace

bool is_quantized(const Checkpoint& checkpoint) { return find_reader(checkpoint) != nullptr; }

std::unique_ptr<Checkpoint> dequantized(std::unique_ptr<Checkpoint> checkpoint) {
  if (!is_quantized(*checkpoint)) return checkpoint;
  if (make_spec(*checkpoint).or_throw().transposed_linears) {
    throw_load_error(ErrorCode::kUnsupported, std::string(checkpoint::kQuantizationField),
                     "{}: is of a family that stores its weights as [inputs, outputs]: such quantized ones are not "
                     "written in another type",
                     checkpoint->path);
  }
  const auto owner = std::make_shared<Quantized>();
  owner->checkpoint = std::move(checkpoint);
  owner->weights.emplace(*owner->checkpoint);
  const std::vector<MatrixInfo> matrices = quantized_matrices(*owner->weights);
  auto plain = std::make_unique<Checkpoint>(*owner->checkpoint);
  std::set<std::string> parts;
  for (const MatrixInfo& matrix : matrices) {
    for (const RawTensor* tensor : matrix.tensors) parts.insert(tensor->name);
  }
  std::erase_if(plain->tensors, [&](const RawTensor& tensor) { return parts.contains(tensor.name); });
  std::erase_if(plain->integers, [&](const auto& integers) { return parts.contains(integers.tensor.name); });
  for (const MatrixInfo& matrix : matrices) {
    auto values = std::make_unique<MatrixValues>(owner, matrix);
    plain->tensors.push_back({.name = matrix.name,
                              .format = quant::find_format("f32"),
                              .shape = Shape{matrix.rows, matrix.cols},
                              .file = static_cast<int>(plain->files.size()),
                              .bytes = values->size()});
    plain->files.push_back(std::move(values));
  }
  checkpoint::index_names(*plain);
  plain->config.json.erase(std::string(checkpoint::kQuantizationField));
  plain->config.quantization_file.clear();
  return plain;
}

}  // namespace millrace::model
