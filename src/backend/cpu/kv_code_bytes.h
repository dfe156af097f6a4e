#pragma once

#include <algorithm>
#include <cstring>

#include "backend/cpu/kv_codes.h"
#include "backend/cpu/kv_encoding.h"

// Codes of eight bits as more than one encoding stores them.

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

}  // namespace millrace::backend::cpu
