#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "base/check.h"

namespace millrace::draft {

// Rows of f32 in the backend's memory. reserve() allocates for the largest use, so steps allocate nothing and cannot
// fail for lack of memory. Contents are valid until the next get().
class RowBuffer {
 public:
  // Allocates for [rows, columns], the maximum of all calls. Throws LoadError (kResourceExhausted).
  void reserve(backend::Backend& backend, std::int64_t rows, std::int64_t columns) {
    memory_ = backend.allocate(bytes_of(rows, columns)).or_throw();
  }
  // A view [rows, columns], at most as large as reserved. Rows begin on cache lines where columns are a multiple of 16.
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
