#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/kernels.h"

namespace millrace::backend::cpu {

// What the x of a product must come as: what the segments of a weight ask for (PackedLinear::activation_form).
struct ActivationForm {
  std::int64_t k = 0;
  unsigned types = 0;      // bit t: a kernel takes ActivationType t
  bool remainder = false;  // int8 comes with what rounding left of x, as a second term
  // The different orders of the segments' columns: the value of x that each column is multiplied with; empty = in
  // order. One in nearly all weights.
  std::span<const std::vector<std::int32_t>> orders = {};

  bool wants(ActivationType type) const noexcept { return (types >> static_cast<int>(type) & 1) != 0; }
};

// The x of a product as its kernels want it: [rows, k] in every activation type that the segments of a weight ask for,
// and in every order. A view; different threads may store different rows, or different groups of a row.
class ActivationRows {
 public:
  // `memory` has the bytes() of a view made without any.
  ActivationRows(const ActivationForm& form, std::int64_t rows, std::byte* memory) noexcept;
  std::size_t bytes() const noexcept { return bytes_of_order_ * orders_.size(); }
  std::int64_t rows() const noexcept { return rows_; }

  // Converts row `row` from x [k], its values put into each order of the weight's columns.
  void store_row(const KernelSet& kernels, std::int64_t row, const float* x) const noexcept;
  // For weights whose columns are all in order. Converts n values of row `row`, from column `column` on: a multiple of
  // kGroup unless it is the end of the row, as is n.
  void store(const KernelSet& kernels, std::int64_t row, std::int64_t column, const float* x,
             std::int64_t n) const noexcept;
  // What segments of that order take, as a view of one order: PackedLinear::Segment::order.
  ActivationRows of_order(std::size_t order) const noexcept;
  // The rows in the first order. first_row is a multiple of kTileRows, or all rows are of one tile.
  Activations view(std::int64_t first_row, std::int64_t rows) const noexcept;
  // What int8 rounding left of x, as int8 again, in the first order; only where the form has a remainder.
  Activations remainder(std::int64_t first_row, std::int64_t rows) const noexcept;

 private:
  Activations int8_view(const Int8Group* groups, std::int64_t first_row, std::int64_t rows) const noexcept;
  void store_in_order(const KernelSet& kernels, std::int64_t row, const float* x,
                      std::span<const std::int32_t> columns) const noexcept;

  std::int64_t k_, rows_;
  std::span<const std::vector<std::int32_t>> orders_;  // of the weight's columns
  std::size_t bytes_of_order_ = 0;                     // one lies behind the other
  // Rows in the first order.
  float* f32_ = nullptr;  // null: no segment wants this type
  std::uint16_t* bf16_ = nullptr;
  Int8Group *groups_ = nullptr, *remainder_ = nullptr;
};

}  // namespace millrace::backend::cpu
