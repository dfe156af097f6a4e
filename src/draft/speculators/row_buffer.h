#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "base/check.h"

namespace millrace::draft {

// Rows of f32 in the backend's memory, for as many as were asked for when its owner was made: steps allocate nothing,
// so that none fails for want of memory. What is in them does not outlive the next get().
class RowBuffer {
 public:
  // Room for [rows, columns]. Throws LoadError (kResourceExhausted).
  void reserve(backend::Backend& backend, std::int64_t rows, std::int64_t columns) {
    memory_ = backend.allocate(bytes_of(rows, columns)).or_throw();
  }
  // [rows, columns], no more than there is room for; rows begin on cache lines where columns are a multiple of 16.
  backend::DeviceView get(std::int64_t rows, std::int64_t columns) {
    CHECK_LE(bytes_of(rows, columns), memory_.size());
    return memory_.view(rows, columns);
  }
  bool fits(std::int64_t rows, std::int64_t columns) const noexcept {
    return bytes_of(rows, columns) <= memory_.size();
  }
  std::size_t bytes() const noexcept { return memory_.size(); }

 private:
  static std::size_t bytes_of(std::int64_t rows, std::int64_t columns) noexcept {
    return static_cast<std::size_t>(rows * columns) * sizeof(float);
  }

  backend::DeviceBuffer memory_;
};

}  // namespace millrace::draft
