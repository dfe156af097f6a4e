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

// Groups of 32 dimensions with unsigned codes: x = scale * code + minimum, both f16.
inline constexpr std::int64_t kCodeGroup = 32;
struct CodeGroup {
  std::uint16_t scale, minimum;
};
// Codes of x [32], 0 to `levels`. The scale and the minimum are those with the least squares of errors among a few near
// the range of x, made better by regression. Of a NaN, an infinity, or what f16 cannot hold, both are NaN.
CodeGroup encode_group(const float* x, int levels, std::uint8_t* codes) noexcept;

// Keys of 4 bits: four bytes hold eight dimensions of a token, the first four in their lower halves. Values: a strip of
// up to 64 dimensions takes half as many bytes, its first half in their lower halves.
void pack_key_nibbles(const std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept;
void unpack_key_nibbles(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept;
void pack_value_nibbles(const std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept;
void unpack_value_nibbles(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept;

// Groups of a head [padded_dim]: codes, and the scales of all groups, then the minima. False if one is NaN though x has
// only numbers.
bool encode_groups(const float* x, std::int64_t padded_dim, int levels, std::uint8_t* codes,
                   std::byte* scales) noexcept;
void decode_groups(const std::uint8_t* codes, const std::byte* scales, std::int64_t padded_dim, float* x) noexcept;

}  // namespace millrace::backend::cpu
