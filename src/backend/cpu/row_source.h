#pragma once

#include <optional>
#include <span>

#include "backend/cpu/host_operands.h"
#include "backend/cpu/activation_rows.h"
#include "backend/cpu/kernels.h"

namespace millrace::backend::cpu {

// The rows of x that a product reads, and the norm that is applied to each before, if any. Copied into phases.
class RowSource {
 public:
  RowSource(TensorView x, const std::optional<HostNorm>& norm, std::span<const std::int64_t> chosen = {})
      : x_(x), norm_(norm.value_or(HostNorm{})), chosen_(chosen) {}

  std::int64_t rows() const noexcept { return chosen_.empty() ? x_.rows() : static_cast<std::int64_t>(chosen_.size()); }
  // Converts rows [first, first + count) to rows [0, count) of `to`; `normed` [k] is scratch memory.
  void store(const KernelSet& kernels, std::int64_t first, std::int64_t count, const ActivationRows& to,
             float* normed) const noexcept;
  // Converts one row to row `to_row` of `to`; `normed` [k] is scratch memory.
  void store_row(const KernelSet& kernels, std::int64_t row, const ActivationRows& to, std::int64_t to_row,
                 float* normed) const noexcept;

  std::int64_t columns() const noexcept { return x_.cols(); }
  // Row `row` as f32 [k]: in `normed`, if there is a norm.
  const float* row(const KernelSet& kernels, std::int64_t row, float* normed) const noexcept;

 private:
  TensorView x_;
  HostNorm norm_;  // without a weight: none
  std::span<const std::int64_t> chosen_;
};

// Computes out [n] = norm(x [n]); both may be the same memory.
void normalise(const KernelSet& kernels, const HostNorm& norm, const float* x, std::int64_t n, float* out) noexcept;

}  // namespace millrace::backend::cpu
