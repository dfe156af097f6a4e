#pragma once

#include <algorithm>
#include <cstring>

#include "backend/cpu/kv_codes.h"
#include "backend/cpu/kv_encoding.h"

// Codes as more than one encoding stores them.

namespace millrace::backend::cpu {

// The kernels multiply with unsigned keys: 128 more than the code.
inline constexpr std::byte kKeySign{0x80};

// encode_groups() with codes up to 127, by the kernel for it.
inline void encode_bytes(const KernelSet& kernels, const float* x, std::int64_t padded_dim, std::int8_t* codes,
                         std::byte* scales) noexcept {
  for (std::int64_t first = 0; first < padded_dim; first += kCodeGroup, scales += sizeof(float)) {
    float scale;
    kernels.to_int8(x + first, std::min(kCodeGroup, padded_dim - first), codes + first, &scale);
    std::memcpy(scales, &scale, sizeof(scale));
  }
}

inline void write_key_bytes(const KernelSet& kernels, const float* key, std::int64_t padded_dim,
                            KvTokenBytes& to) noexcept {
  encode_bytes(kernels, key, padded_dim, reinterpret_cast<std::int8_t*>(to.key), to.key_scales);
  for (std::int64_t d = 0; d < padded_dim; ++d) to.key[d] ^= kKeySign;
}

inline void read_key_bytes(const KvToken& token, std::int64_t padded_dim, float* key) noexcept {
  std::int8_t codes[kMaxHeadDim];
  for (std::int64_t d = 0; d < padded_dim; ++d) codes[d] = std::to_integer<std::int8_t>(token.key[d] ^ kKeySign);
  decode_groups(codes, token.key_scales, padded_dim, key);
}

// Values of four bits and a sign, which lies behind the scales.
inline constexpr std::int64_t kNarrowStrip = kStripDims / 2;  // TileForm::strip
constexpr std::int64_t narrow_value_scales(std::int64_t padded_dim) noexcept {
  return code_groups(padded_dim) + padded_dim / 32;
}
inline void write_narrow_values(const float* value, std::int64_t padded_dim, KvTokenBytes& to) noexcept {
  std::int8_t codes[kMaxHeadDim];
  std::uint8_t stored[kMaxHeadDim];
  encode_groups(value, padded_dim, 15, codes, to.value_scales);
  for (std::int64_t d = 0; d < padded_dim; ++d) stored[d] = static_cast<std::uint8_t>(codes[d]);
  pack_value_nibbles(stored, padded_dim, to.value);
  pack_value_bits(stored, padded_dim, to.value_scales + 4 * code_groups(padded_dim));
}

inline void read_narrow_values(const KvToken& token, std::int64_t padded_dim, float* value) noexcept {
  std::int8_t codes[kMaxHeadDim];
  std::uint8_t stored[kMaxHeadDim];
  unpack_value_nibbles(token.value, padded_dim, stored);
  unpack_value_bits(token.value_scales + 4 * code_groups(padded_dim), padded_dim, stored);
  for (std::int64_t d = 0; d < padded_dim; ++d) {
    codes[d] = static_cast<std::int8_t>(stored[d] < 16 ? stored[d] : stored[d] - 32);
  }
  decode_groups(codes, token.value_scales, padded_dim, value);
}

}  // namespace millrace::backend::cpu
