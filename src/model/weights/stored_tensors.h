#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/weights/weight_reader.h"

// What readers of quantized weights ask of a checkpoint's tensors, with errors that name the tensor.

namespace millrace::model {

// The safetensors dtype of a tensor: "I32", "F16", "F8_E4M3".
std::string_view dtype_of(const checkpoint::RawTensor& tensor) noexcept;

// A list of dtypes, or of other short texts, written in place or kept in an array.
struct Dtypes {
  Dtypes(std::initializer_list<std::string_view> list) : names(list.begin(), list.size()) {}  // outlives the call
  template <std::size_t n>
  Dtypes(const std::string_view (&list)[n]) : names(list) {}
  std::span<const std::string_view> names;
};
// The dtypes that scales may have.
inline constexpr std::string_view kNumberDtypes[] = {"F16", "BF16", "F32"};

class StoredTensors {
 public:
  explicit StoredTensors(const checkpoint::Checkpoint& checkpoint) : checkpoint_(&checkpoint) {}

  // Null if there is none of that name.
  const checkpoint::RawTensor* find(const std::string& name) const;
  // Throws LoadError if it is missing or of none of these dtypes.
  const checkpoint::RawTensor& require(const std::string& name, const Dtypes& dtypes) const;
  // The same, and if it has another shape.
  const checkpoint::RawTensor& require(const std::string& name, const Dtypes& dtypes, const Shape& shape) const;
  std::vector<std::byte> bytes(const checkpoint::RawTensor& tensor) const;
  std::vector<std::byte> bytes(const checkpoint::RawTensor& tensor, const TensorRange& range) const;
  // Values of F32, F16, BF16, F8_E4M3 or F8_E8M0. Throws LoadError naming the first one that is NaN or infinite.
  std::vector<float> floats(const checkpoint::RawTensor& tensor) const;
  std::vector<std::int64_t> integers(const checkpoint::RawTensor& tensor) const;
  [[noreturn]] void fail(const std::string& tensor, const std::string& what) const;
  const checkpoint::Checkpoint& checkpoint() const noexcept { return *checkpoint_; }
  // The names of tensors that end so, without the ending.
  std::vector<std::string> stems(std::string_view ending) const;
  // Whether <module>.weight is a matrix of one of these dtypes.
  bool has_weight(const std::string& module, const Dtypes& dtypes) const;
  // The modules that have a tensor <module><ending>, or such a weight; each once.
  std::vector<std::string> modules(const Dtypes& endings, const Dtypes& weights) const;

 private:
  const checkpoint::Checkpoint* checkpoint_;
};

// `name` without `ending`; empty if it ends otherwise.
std::string stem_of(std::string_view name, std::string_view ending);

// The bytes of rows [first, first + count) of a tensor [rows, ...].
TensorRange range_of_rows(const checkpoint::RawTensor& tensor, std::int64_t first, std::int64_t count);
// The bytes of columns [first, first + count) of a tensor [..., columns].
TensorRange range_of_columns(const checkpoint::RawTensor& tensor, std::int64_t first, std::int64_t count);

}  // namespace millrace::model
