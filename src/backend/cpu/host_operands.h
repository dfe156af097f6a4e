#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backend/backend.h"
#include "backend/cpu/kv_geometry.h"

// Operands of operations with pointers instead of device addresses, as this device's memory is the host's.

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
  HeadGroups groups;
  float scale = 1.0f;
  std::int64_t window = 0, chunk = 0;
  float softcap = 0.0f;
  const float* alibi = nullptr;
  const float* sinks = nullptr;
};

struct HostHeadNorm {
  HostNorm norm;
  HeadNorm::Over over = HeadNorm::Over::kHead;
  std::int64_t weight_stride = 0;
  bool after_rotation = false;
};

struct HostAttentionInputs {
  HostNorm norm;
  const Linear* qkv = nullptr;
  const float* bias = nullptr;
  float clip = 0.0f;
  HostHeadNorm q_norm, k_norm;
  std::int64_t heads = 0;
  HeadGroups groups;
  const float* cos_sin = nullptr;  // rows of `rotated` values
  std::int64_t rotated = 0;
  TensorView query_scale;
  std::span<const SequenceRows> sequences;
  HostKvPages kv;
};

struct HostMlp {
  HostNorm norm;
  const Linear* up = nullptr;
  const float* up_bias = nullptr;
  bool gated = true;
  Activation activation = Activation::kSilu;
  ActivationParameters parameters = {};
  const Linear* down = nullptr;
  const float* down_bias = nullptr;
  bool accumulate = true;
  std::span<const AdapterRows> up_adapters = {}, down_adapters = {};
  ExchangeArgs hidden = {};

  bool has_adapters() const noexcept { return !up_adapters.empty() || !down_adapters.empty(); }
};

struct HostExperts {
  const Linear* up = nullptr;
  const float* up_bias = nullptr;
  bool gated = true;
  Activation activation = Activation::kSilu;
  ActivationParameters parameters = {};
  const Linear* down = nullptr;
  const float* down_bias = nullptr;
  bool scale_inputs = false, accumulate = true;
  ExchangeArgs hidden = {};
  std::uint32_t* census = nullptr;
  std::span<const AdapterRows> up_adapters = {}, down_adapters = {};

  bool has_adapters() const noexcept { return !up_adapters.empty() || !down_adapters.empty(); }
};

// The geometry for kernels; the format must be one that check_pages() of kv_layout.h accepts.
KvGeometry geometry_of(const KvFormat& format) noexcept;
HostNorm on_host(const Norm& norm) noexcept;
std::optional<HostNorm> on_host(const std::optional<Norm>& norm) noexcept;
HostHeadNorm on_host(const HeadNorm& norm) noexcept;
HostKvPages on_host(const KvPages& pages) noexcept;
HostAttendArgs on_host(const AttendArgs& args);
HostAttentionInputs on_host(const AttentionInputs& inputs) noexcept;
HostMlp on_host(const Mlp& mlp) noexcept;
HostExperts on_host(const Experts& experts) noexcept;

}  // namespace millrace::backend::cpu
