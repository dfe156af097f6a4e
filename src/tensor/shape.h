#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/check.h"

namespace millrace {

// Up to four dimensions, outermost first: a weight of a linear layer is {out, in}. Value type.
class Shape {
 public:
  static constexpr int kMaxRank = 4;
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) {
    CHECK_LE(static_cast<int>(dims.size()), kMaxRank);
    for (const std::int64_t d : dims) dims_[rank_++] = d;
  }
  void append(std::int64_t dim) {
    CHECK_LT(rank_, kMaxRank);
    dims_[rank_++] = dim;
  }

  int rank() const noexcept { return rank_; }
  std::int64_t operator[](int i) const noexcept { return dims_[i]; }
  std::int64_t back() const noexcept { return rank_ == 0 ? 1 : dims_[rank_ - 1]; }
  // Product of all dimensions. Readers of files have checked that it does not overflow.
  std::int64_t elements() const noexcept {
    std::int64_t n = 1;
    for (int i = 0; i < rank_; ++i) n *= dims_[i];
    return n;
  }
  // Product of all dimensions but the last.
  std::int64_t rows() const noexcept { return rank_ == 0 || back() == 0 ? 0 : elements() / back(); }
  bool operator==(const Shape& other) const noexcept = default;
  std::string to_string() const;  // "[49152, 576]"

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

}  // namespace millrace
