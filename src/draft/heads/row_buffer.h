#pragma once

#include <cstdint>

#include "backend/backend.h"

namespace millrace::draft {

// Rows of f32 in the backend's memory, grown when more of them come. What is in them does not outlive that.
class RowBuffer {
 public:
  // [rows, columns]; rows begin on cache lines where columns are a multiple of 16.
  TensorView get(backend::Backend& backend, std::int64_t rows, std::int64_t columns) {
    const auto bytes = static_cast<std::size_t>(rows * columns) * sizeof(float);
    if (bytes > memory_.size()) memory_ = backend.allocate(bytes).or_throw();
    return {memory_.as<float>(), DType::kF32, {rows, columns}};
  }

 private:
  Buffer memory_;
};

}  // namespace millrace::draft
