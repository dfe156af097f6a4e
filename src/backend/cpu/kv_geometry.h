#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace millrace::backend::cpu {

struct KvEncoding;
struct KvLayout;

// Dimensions of a key or value of one head. Weights, activations, norms, rotation and scale have as many as the model;
// in pages and within attention, zeros pad them to a multiple of what the kernels process at a time.
inline constexpr std::int64_t kMaxKeyDim = 576, kMaxValueDim = 512;
inline constexpr std::int64_t kMaxHeadDim = std::max(kMaxKeyDim, kMaxValueDim);
constexpr std::int64_t padded_head_dim(std::int64_t head_dim) noexcept { return (head_dim + 15) / 16 * 16; }

// Pages as kernels see them: a page holds one part per head, all of the same size. KvEncoding says what a token is
// stored as, KvLayout how the tokens lie in a part. Keys and values may have different sizes.
struct KvGeometry {
  const KvEncoding* encoding = nullptr;                   // null: bf16
  std::int64_t kv_heads = 0, key_dim = 0, value_dim = 0;  // unpadded, 1 to kMax...
  std::int64_t block_tokens = 32;
  const KvLayout* layout = nullptr;            // null: paged32
  float key_scale = 0.0f, value_scale = 0.0f;  // as in KvFormat
  std::int64_t layer = 0;                      // for messages

  std::int64_t padded_key_dim() const noexcept { return padded(key_dim); }
  std::int64_t padded_value_dim() const noexcept { return padded(value_dim); }
  std::size_t head_bytes() const noexcept;  // keys and values of one head in one page
  std::size_t page_bytes() const noexcept { return static_cast<std::size_t>(kv_heads) * head_bytes(); }
  bool rotates() const noexcept;  // whether pages hold heads as rotate_head() has them
  float key_factor() const noexcept { return key_scale > 0.0f ? key_scale : 1.0f; }
  float value_factor() const noexcept { return value_scale > 0.0f ? value_scale : 1.0f; }

 private:
  std::int64_t padded(std::int64_t head_dim) const noexcept;
};

}  // namespace millrace::backend::cpu
