#include "backend/cpu/kv_writer.h"

#include <cstring>

namespace millrace::backend::cpu {

float KvWriter::convert(std::int64_t head_dim, const float* x, std::byte* to) const noexcept {
  const std::int64_t n = padded_head_dim(head_dim);
  alignas(64) float space[kMaxHeadDim];
  x = pad_head(head_dim, x, space);
  float scale = 0.0f;
  switch (kv_.geometry.dtype) {
    case DType::kF32: std::memcpy(to, x, static_cast<std::size_t>(n) * sizeof(float)); break;
    case DType::kF16: kernels_.to_f16(x, n, reinterpret_cast<std::uint16_t*>(to)); break;
    case DType::kI8: kernels_.to_int8(x, n, reinterpret_cast<std::int8_t*>(to), &scale); break;
    default: kernels_.to_bf16(x, n, reinterpret_cast<std::uint16_t*>(to)); break;
  }
  return scale;
}

void KvWriter::write(const SequenceRows& sequence, std::int64_t position, std::int64_t head, const float* key,
                     const float* value) const noexcept {
  const KvGeometry& geometry = kv_.geometry;
  alignas(64) std::byte k[kMaxHeadDim * sizeof(float)], v[kMaxHeadDim * sizeof(float)];
  KvToken token{k, v, convert(geometry.key_dim, key, k), convert(geometry.value_dim, value, v)};
  if (geometry.dtype == DType::kI8) {
    for (std::int64_t d = 0; d < geometry.padded_key_dim(); ++d) k[d] ^= std::byte{0x80};
  }
  const std::int64_t slot = position % geometry.block_tokens;
  const std::int32_t page = sequence.pages[static_cast<std::size_t>(position / geometry.block_tokens)];
  std::byte* at = kv_.base + static_cast<std::size_t>(page) * geometry.page_bytes() +
                  static_cast<std::size_t>(head) * geometry.head_bytes();
  layout_.write(geometry, at, slot, token);
}

}  // namespace millrace::backend::cpu
