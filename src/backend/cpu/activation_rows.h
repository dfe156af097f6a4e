#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/kernels.h"

namespace millrace::backend::cpu {

// The forms of x that the segments of a weight need (PackedLinear::activation_form).
struct ActivationForm {
  std::int64_t k = 0;
  unsigned types = 0;      // bit t is set if a kernel takes ActivationType t
  bool remainder = false;  // int8 needs a second term: what rounding left of x
  // The distinct column orders of the segments: for each column the index of the value of x that it is multiplied with;
  // empty = in order. Nearly all weights have one.
  std::span<const std::vector<std::int32_t>> orders = {};

  bool wants(ActivationType type) const noexcept { return (types >> static_cast<int>(type) & 1) != 0; }
  bool wants_int8() const noexcept { return types >> static_cast<int>(ActivationType::kInt8) != 0; }
  // Whether ranks that have some of the columns each can put together what each has made of its own: int8 in groups,
  // in order, which is the same on every instruction set, and no border within a group. `borders` as in ExchangeArgs.
  bool can_be_cut(std::span<const std::int64_t> borders) const noexcept;
  // Bytes of n columns of a row, which can be cut.
  std::size_t cut_bytes(std::int64_t n) const noexcept;
  // Whether more than a group shares a scale: pieces of a row then wait as f32 until it is whole.
  bool waits_for_rows() const noexcept { return wants(ActivationType::kInt8Block) || wants(ActivationType::kInt8Row); }
};

// A number for Activations::contents. Any thread.
std::uint64_t new_contents() noexcept;

// The x of a product in the forms that its kernels need: [rows, k] in every activation type and every column order of
// the weight's segments. A view. Different threads may store different rows, or different groups of a row.
class ActivationRows {
 public:
  // `memory` has as many bytes as bytes() of an object made with null memory.
  ActivationRows(const ActivationForm& form, std::int64_t rows, std::byte* memory) noexcept;
  std::size_t bytes() const noexcept { return bytes_of_order_ * orders_.size(); }
  std::int64_t rows() const noexcept { return rows_; }

  // Converts row `row` from x [k] into each column order of the weight.
  void store_row(const KernelSet& kernels, std::int64_t row, const float* x) const noexcept;
  // Takes n values of row `row` from column `column` on; only for weights with all columns in order. `column` and n are
  // multiples of kGroup, but for n at the end of the row. Rows of which pieces were put need finish_rows().
  void put(const KernelSet& kernels, std::int64_t row, std::int64_t column, const float* x,
           std::int64_t n) const noexcept;
  // Converts the rows [begin, end), if they wait for that.
  void finish_rows(const KernelSet& kernels, std::int64_t begin, std::int64_t end) const noexcept;
  // Copies n columns of row `row` from column `first` on, cut_bytes(n), of a form that can be cut there: to other
  // memory, or from it.
  void save_columns(std::int64_t row, std::int64_t first, std::int64_t n, std::byte* to) const noexcept;
  void load_columns(std::int64_t row, std::int64_t first, std::int64_t n, const std::byte* from) const noexcept;
  // The rows in the order of PackedLinear::Segment::order, as a view with that order alone.
  ActivationRows of_order(std::size_t order) const noexcept;
  // The same rows, which will not change as long as they are read under this number (Activations::contents).
  ActivationRows with_contents(std::uint64_t number) const noexcept;
  // Rows [first_row, first_row + rows), under the same condition as view().
  ActivationRows part(std::int64_t first_row, std::int64_t rows) const noexcept;
  // Copies a row of activations of the same form.
  void copy_row(std::int64_t row, const ActivationRows& from, std::int64_t from_row) const noexcept;
  // The rows in the first order as a kernel reads them that takes this type. first_row must be a multiple of kTileRows,
  // or all rows must be in one tile.
  Activations view(ActivationType type, std::int64_t first_row, std::int64_t rows) const noexcept;
  // What int8 rounding to this type left of x, in int8 again, in the first order. Only if the form has a remainder.
  Activations remainder(ActivationType type, std::int64_t first_row, std::int64_t rows) const noexcept;

 private:
  struct Int8Rows {
    Int8Group *groups = nullptr, *remainder = nullptr;
  };
  void store(const KernelSet& kernels, std::int64_t row, std::int64_t column, const float* x,
             std::int64_t n) const noexcept;
  static constexpr int index_of(ActivationType type) noexcept {
    return static_cast<int>(type) - static_cast<int>(ActivationType::kInt8);
  }
  const Int8Rows& int8(ActivationType type) const noexcept { return int8_[index_of(type)]; }
  template <typename Copy>
  void for_groups(std::int64_t row, std::int64_t first, std::int64_t n, const Copy& copy) const noexcept;
  template <typename Rows, typename Visit>
  static void for_arrays(Rows& rows, const Visit& visit);
  Activations int8_view(const Int8Group* groups, std::int64_t first_row, std::int64_t rows) const noexcept;
  void store_in_order(const KernelSet& kernels, std::int64_t row, const float* x,
                      std::span<const std::int32_t> columns) const noexcept;

  std::int64_t k_, rows_;
  std::uint64_t contents_ = 0;
  std::int64_t stored_;                                // rows from the beginning of the first one's tile on
  std::span<const std::vector<std::int32_t>> orders_;  // of the weight's columns
  std::size_t bytes_of_order_ = 0;                     // one lies behind the other
  // Rows in the first order.
  float* f32_ = nullptr;  // null: no segment wants this type
  std::uint16_t* bf16_ = nullptr;
  Int8Rows int8_[kActivationTypes - static_cast<int>(ActivationType::kInt8)];
  float* staged_ = nullptr;  // rows of f32; null: none waits
};

}  // namespace millrace::backend::cpu
