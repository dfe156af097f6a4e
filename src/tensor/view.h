#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace millrace {

// A view of dense data: rank <= 4, last dimension contiguous, strides in elements. Never allocates or converts. The
// memory belongs to the maker of the view and is on one device.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;
  std::array<std::int64_t, Shape::kMaxRank> strides{};

  TensorView() = default;
  // A contiguous tensor.
  TensorView(void* pointer, DType type, Shape dims) : data(pointer), dtype(type), shape(dims) {
    std::int64_t stride = 1;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      strides[static_cast<std::size_t>(i)] = stride;
      stride *= shape[i];
    }
  }

  std::int64_t rows() const noexcept { return shape[0]; }
  std::int64_t cols() const noexcept { return shape.back(); }
  std::int64_t row_stride() const noexcept { return strides[0]; }

  // Row i of a matrix whose elements are T.
  template <typename T = float>
  T* row(std::int64_t i) const {
    DCHECK(shape.rank() == 2 && size_of(dtype) == sizeof(T));
    return static_cast<T*>(data) + i * strides[0];
  }

  // Columns [begin, begin + count) of a matrix, as a view on the same memory.
  TensorView columns(std::int64_t begin, std::int64_t count) const {
    CHECK(shape.rank() == 2 && begin + count <= shape[1]);
    TensorView view = *this;
    view.data = static_cast<std::byte*>(data) + static_cast<std::size_t>(begin) * size_of(dtype);
    view.shape = {shape[0], count};
    return view;
  }
  // Rows [begin, begin + count) of a matrix, on the same memory.
  TensorView rows(std::int64_t begin, std::int64_t count) const {
    CHECK(shape.rank() == 2 && begin + count <= shape[0]);
    TensorView view = *this;
    view.data = static_cast<std::byte*>(data) + static_cast<std::size_t>(begin * strides[0]) * size_of(dtype);
    view.shape = {count, shape[1]};
    return view;
  }
};

}  // namespace millrace
