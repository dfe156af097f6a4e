#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensor/dtype.h"

// Numbers below 16 bits as encodings of pages store them.

namespace millrace::backend::cpu {

// The largest number of e4m3 (tensor/dtype.h), and its NaN.
inline constexpr float kMaxE4m3 = 448.0f;
inline constexpr std::uint8_t kE4m3Nan = 0x7f;
// Rounds to nearest even; what would be above 448, and NaN, becomes NaN.
inline std::uint8_t encode_e4m3(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & 0x7fffffffu, sign = bits >> 24 & 0x80u;
  if (magnitude < 0x3c800000u) {  // 2^-6: adding 2^14 rounds to multiples of 2^-9
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(shifted) & 0xfu));
  }
  const std::uint32_t rounded = (magnitude + 0x7ffffu + (magnitude >> 20 & 1u) - (120u << 23)) >> 20;
  return static_cast<std::uint8_t>(sign | (magnitude > 0x43e80000u ? kE4m3Nan : rounded));  // 464
}

// Signed codes: x = scale * code, an f32 scale for each 128 dimensions of a head, the last ones maybe fewer.
inline constexpr std::int64_t kCodeGroup = 128;
constexpr std::int64_t code_groups(std::int64_t padded_dim) noexcept {
  return (padded_dim + kCodeGroup - 1) / kCodeGroup;
}
// The codes of a head [padded_dim], -most to most, and the scales of its groups. The scale of a group with a NaN or an
// infinity is NaN.
void encode_groups(const float* x, std::int64_t padded_dim, int most, std::int8_t* codes, std::byte* scales) noexcept;
void decode_groups(const std::int8_t* codes, const std::byte* scales, std::int64_t padded_dim, float* x) noexcept;

// What follows takes codes as bytes; padded_dim is a multiple of 32.

// Lower four bits of keys: four bytes hold eight dimensions of a token, the first four in their lower halves. Of
// values: a strip of up to 64 dimensions takes half as many bytes, its first half in their lower halves.
void pack_key_nibbles(const std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept;
void unpack_key_nibbles(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept;
void pack_value_nibbles(const std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept;
void unpack_value_nibbles(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept;

// Bits 4 and 5 of keys: four bytes hold 16 dimensions, byte j those of dimensions j, 4 + j, 8 + j and 12 + j from its
// lowest bits on. Unpacking adds them to codes.
void pack_key_pairs(const std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept;
void unpack_key_pairs(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept;

// Bit 4 of values: bit i of a little-endian word of 32 bits is dimension i's. Unpacking adds them to codes.
void pack_value_bits(const std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept;
void unpack_value_bits(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept;

}  // namespace millrace::backend::cpu
