#include "backend/cpu/activation_rows.h"

#include <cstring>

namespace millrace::backend::cpu {
namespace {

// Cuts memory into arrays that begin on cache lines; counts only, when there is none.
class Layout {
 public:
  explicit Layout(std::byte* memory) : memory_(memory) {}
  template <typename T>
  T* take(std::int64_t count) {
    T* at = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_);
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return at;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  std::size_t used_ = 0;
};

}  // namespace

ActivationRows::ActivationRows(const PackedLinear& weight, std::int64_t rows, std::byte* memory) noexcept
    : k_(weight.k()) {
  Layout layout(memory);
  if (weight.wants(ActivationType::kF32)) f32_ = layout.take<float>(rows * k_);
  if (weight.wants(ActivationType::kBf16)) bf16_ = layout.take<std::uint16_t>(rows * k_);
  if (weight.wants(ActivationType::kInt8)) {
    codes_ = layout.take<std::int8_t>(rows * k_);
    groups_ = layout.take<Int8Group>(rows * (k_ / kGroup));
    if (weight.wants_remainder()) {
      remainder_codes_ = layout.take<std::int8_t>(rows * k_);
      remainder_groups_ = layout.take<Int8Group>(rows * (k_ / kGroup));
    }
  }
  bytes_ = layout.used();
}

void ActivationRows::store(const KernelSet& kernels, std::int64_t row, std::int64_t column, const float* x,
                           std::int64_t n) const noexcept {
  const std::int64_t at = row * k_ + column, group = row * (k_ / kGroup) + column / kGroup;
  if (f32_ != nullptr) std::memcpy(f32_ + at, x, static_cast<std::size_t>(n) * sizeof(float));
  if (bf16_ != nullptr) kernels.to_bf16(x, n, bf16_ + at);
  if (codes_ == nullptr) return;
  kernels.quantize(x, n, codes_ + at, groups_ + group);
  if (remainder_codes_ == nullptr) return;
  kernels.quantize_remainder(x, n, codes_ + at, groups_ + group, remainder_codes_ + at, remainder_groups_ + group);
}

Activations ActivationRows::view(std::int64_t first_row, std::int64_t rows) const noexcept {
  const auto from = [](auto* array, std::int64_t offset) { return array == nullptr ? nullptr : array + offset; };
  Activations view;
  view.rows = rows;
  view.k = k_;
  view.f32 = from(f32_, first_row * k_);
  view.f32_stride = k_;
  view.bf16 = from(bf16_, first_row * k_);
  view.q = from(codes_, first_row * k_);
  view.groups = from(groups_, first_row * (k_ / kGroup));
  return view;
}

Activations ActivationRows::remainder(std::int64_t first_row, std::int64_t rows) const noexcept {
  Activations view;
  view.rows = rows;
  view.k = k_;
  view.q = remainder_codes_ + first_row * k_;
  view.groups = remainder_groups_ + first_row * (k_ / kGroup);
  return view;
}

}  // namespace millrace::backend::cpu
