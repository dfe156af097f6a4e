#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backend/backend.h"

// Operands of operations with their addresses as pointers: this device's memory is the host's.

namespace millrace::backend::cpu {

template <typename T = float>
T* pointer(DeviceAddress address) noexcept {
  return reinterpret_cast<T*>(address.value());
}
inline DeviceAddress address_of(const void* data) noexcept {
  return DeviceAddress(reinterpret_cast<std::uintptr_t>(data));
}

inline TensorView on_host(const DeviceView& view) {
  TensorView out(pointer<void>(view.data), view.dtype, view.shape);
  out.strides = view.strides;
  return out;
}
inline DeviceView on_device(const TensorView& view) {
  DeviceView out(address_of(view.data), view.dtype, view.shape);
  out.strides = view.strides;
  return out;
}

struct KvLayout;

// Dimensions of a key, or of a value, of one head: as many as the model has in weights, activations, norms, rotation
// and scale; in pages, and within attention, zeros follow up to a multiple of what the kernels take at a time.
inline constexpr std::int64_t kMaxHeadDim = 256;  // of either
inline constexpr std::int64_t kMaxGroup = 64;     // query heads of a key/value head
constexpr std::int64_t padded_head_dim(std::int64_t head_dim) noexcept { return (head_dim + 15) / 16 * 16; }

// Pages as kernels see them: head by head; how the tokens of a head lie is the layout's business, and its size the same
// in all of them. Keys and values may have different sizes.
struct KvGeometry {
  DType dtype = DType::kBF16;
  std::int64_t kv_heads = 0, key_dim = 0, value_dim = 0;  // sizes: the model's, 1 to kMaxHeadDim
  std::int64_t block_tokens = 32;
  const KvLayout* layout = nullptr;  // null: paged32

  std::int64_t padded_key_dim() const noexcept { return padded_head_dim(key_dim); }
  std::int64_t padded_value_dim() const noexcept { return padded_head_dim(value_dim); }
  std::size_t head_bytes() const noexcept {  // K and V of one head of one page
    const std::size_t scales = dtype == DType::kI8 ? 2 * sizeof(float) : 0;
    return static_cast<std::size_t>(block_tokens) *
           (static_cast<std::size_t>(padded_key_dim() + padded_value_dim()) * size_of(dtype) + scales);
  }
  std::size_t page_bytes() const noexcept { return static_cast<std::size_t>(kv_heads) * head_bytes(); }
};

struct HostKvPages {
  std::byte* base = nullptr;
  KvGeometry geometry;
};

struct HostNorm {
  NormKind kind = NormKind::kRms;
  float eps = 1e-5f;
  const float* weight = nullptr;
  const float* bias = nullptr;
};

struct HostAttendArgs {
  TensorView q;
  std::span<const SequenceRows> sequences;
  HostKvPages kv;
  std::int64_t heads = 0;
  float scale = 1.0f;
  std::int64_t window = 0;
};

struct HostAttentionInputs {
  HostNorm norm;
  const Linear* qkv = nullptr;
  const float* bias = nullptr;
  std::optional<HostNorm> q_norm, k_norm;
  std::int64_t heads = 0;
  const float* cos_sin = nullptr;  // rows of `rotated` numbers
  std::int64_t rotated = 0;
  std::span<const SequenceRows> sequences;
  HostKvPages kv;
};

struct HostMlp {
  HostNorm norm;
  const Linear* up = nullptr;
  const float* up_bias = nullptr;
  bool gated = true;
  Activation activation = Activation::kSilu;
  const Linear* down = nullptr;
  const float* down_bias = nullptr;
};

// kv_layout.h has what `format` must be like.
KvGeometry geometry_of(const KvFormat& format) noexcept;
HostNorm on_host(const Norm& norm) noexcept;
std::optional<HostNorm> on_host(const std::optional<Norm>& norm) noexcept;
HostKvPages on_host(const KvPages& pages) noexcept;
HostAttendArgs on_host(const AttendArgs& args);
HostAttentionInputs on_host(const AttentionInputs& inputs) noexcept;
HostMlp on_host(const Mlp& mlp) noexcept;

}  // namespace millrace::backend::cpu
