#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace millrace::backend {

// An address in the memory of one device. Only the device's backend can use it. Null: no memory.
class DeviceAddress {
 public:
  constexpr DeviceAddress() = default;
  constexpr explicit DeviceAddress(std::uintptr_t value) noexcept : value_(value) {}

  constexpr std::uintptr_t value() const noexcept { return value_; }
  constexpr explicit operator bool() const noexcept { return value_ != 0; }
  constexpr DeviceAddress operator+(std::size_t bytes) const noexcept { return DeviceAddress(value_ + bytes); }
  constexpr bool operator==(const DeviceAddress&) const = default;

 private:
  std::uintptr_t value_ = 0;
};

// A TensorView for memory of a device: rank <= 4, last dimension contiguous, strides in elements. Does not own it.
struct DeviceView {
  DeviceAddress data;
  DType dtype = DType::kF32;
  Shape shape;
  std::array<std::int64_t, Shape::kMaxRank> strides{};

  DeviceView() = default;
  // A contiguous tensor.
  DeviceView(DeviceAddress address, DType type, Shape dims) : data(address), dtype(type), shape(dims) {
    std::int64_t stride = 1;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      strides[static_cast<std::size_t>(i)] = stride;
      stride *= shape[i];
    }
  }

  std::int64_t rows() const noexcept { return shape[0]; }
  std::int64_t cols() const noexcept { return shape.back(); }
  std::int64_t row_stride() const noexcept { return strides[0]; }

  // Columns [begin, begin + count) of a matrix, on the same memory.
  DeviceView columns(std::int64_t begin, std::int64_t count) const {
    CHECK(shape.rank() == 2 && begin + count <= shape[1]);
    DeviceView view = *this;
    view.data = data + static_cast<std::size_t>(begin) * size_of(dtype);
    view.shape = {shape[0], count};
    return view;
  }
  // Rows [begin, begin + count) of a matrix, on the same memory.
  DeviceView row_range(std::int64_t begin, std::int64_t count) const {
    CHECK(shape.rank() == 2 && begin + count <= shape[0]);
    DeviceView view = *this;
    view.data = data + static_cast<std::size_t>(begin * strides[0]) * size_of(dtype);
    view.shape = {count, shape[1]};
    return view;
  }
};

}  // namespace millrace::backend
