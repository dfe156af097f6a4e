#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace millrace::backend::cpu {

struct KvLayout;

// Dimensions of a key or value of one head. Weights, activations, norms, rotation and scale have as many as the model;
// in pages and within attention, zeros pad them to a multiple of what the kernels process at a time.
inline constexpr std::int64_t kMaxKeyDim = 576, kMaxValueDim = 512;
inline constexpr std::int64_t kMaxHeadDim = std::max(kMaxKeyDim, kMaxValueDim);
constexpr std::int64_t padded_head_dim(std::int64_t head_dim) noexcept { return (head_dim + 15) / 16 * 16; }

// Pages as kernels see them: a page holds one part per head, all of the same size. KvLayout defines how the tokens lie
// in a part. Keys and values may have different sizes.
struct KvGeometry {
  DType dtype = DType::kBF16;
  std::int64_t kv_heads = 0, key_dim = 0, value_dim = 0;  // unpadded, 1 to kMax...
  std::int64_t block_tokens = 32;
  const KvLayout* layout = nullptr;  // null: paged32

  std::int64_t padded_key_dim() const noexcept { return padded_head_dim(key_dim); }
  std::int64_t padded_value_dim() const noexcept { return padded_head_dim(value_dim); }
  std::size_t head_bytes() const noexcept {  // keys and values of one head in one page
    const std::size_t scales = dtype == DType::kI8 ? 2 * sizeof(float) : 0;
    return static_cast<std::size_t>(block_tokens) *
           (static_cast<std::size_t>(padded_key_dim() + padded_value_dim()) * size_of(dtype) + scales);
  }
  std::size_t page_bytes() const noexcept { return static_cast<std::size_t>(kv_heads) * head_bytes(); }
};

}  // namespace millrace::backend::cpu
