#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tensor/dtype.h"

// Arithmetic shared by GGUF's formats of 32 values a block (q4_0 ... q8_0, iq4_nl, mxfp4): half-precision scales, codes
// in nibbles, tables of levels.

namespace millrace::quant {

inline constexpr int kBlock32 = 32;
using Codes32 = std::array<std::uint8_t, kBlock32>;

inline std::uint16_t load_bits(const std::byte* at) noexcept {
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
}

inline float load_half(const std::byte* at) noexcept { return f16_to_f32(load_bits(at)); }

inline void store_half(std::byte* at, float value) noexcept {
  const std::uint16_t bits = f32_to_f16(value);
  std::memcpy(at, &bits, sizeof bits);
}

// 16 bytes hold 32 nibbles: byte i has value i in its low half and value i + 16 in its high half.
inline void load_nibbles(const std::byte* at, Codes32& codes) noexcept {
  std::array<std::uint8_t, 16> bytes;
  std::memcpy(bytes.data(), at, bytes.size());
  for (int i = 0; i < 16; ++i) codes[i] = bytes[i] & 0x0f;
  for (int i = 0; i < 16; ++i) codes[i + 16] = static_cast<std::uint8_t>(bytes[i] >> 4);
}

inline void store_nibbles(std::byte* at, const Codes32& codes) noexcept {
  for (int i = 0; i < 16; ++i) at[i] = static_cast<std::byte>((codes[i] & 0x0f) | ((codes[i + 16] & 0x0f) << 4));
}

// Four bytes hold the fifth bit of 32 codes, bit i of the little-endian word for value i.
inline void load_fifth_bits(const std::byte* at, Codes32& codes) noexcept {
  for (int i = 0; i < kBlock32; i += 8) {
    // The product puts bit b of the byte at bit 7 of byte 7 - b of the word; the swap puts it at byte b.
    const std::uint64_t byte = std::to_integer<std::uint64_t>(at[i / 8]);
    const std::uint64_t spread = __builtin_bswap64((byte * 0x8040201008040201u) & 0x8080808080808080u) >> 3;
    std::uint64_t word;
    std::memcpy(&word, &codes[i], sizeof word);
    word |= spread;
    std::memcpy(&codes[i], &word, sizeof word);
  }
}

inline void store_fifth_bits(std::byte* at, const Codes32& codes) noexcept {
  std::uint32_t word = 0;
  for (int i = 0; i < kBlock32; ++i) word |= static_cast<std::uint32_t>(codes[i] >> 4 & 1) << i;
  std::memcpy(at, &word, sizeof word);
}

// The code of the level nearest to the value, the first one if there are two.
inline std::uint8_t nearest_level(const std::array<std::int8_t, 16>& levels, float value) noexcept {
  std::uint8_t best = 0;
  for (std::uint8_t i = 1; i < 16; ++i) {
    if (std::fabs(value - static_cast<float>(levels[i])) < std::fabs(value - static_cast<float>(levels[best]))) {
      best = i;
    }
  }
  return best;
}

// Truncates to [0, top]; NaN (0 times an infinite inverse scale) becomes 0.
inline std::uint8_t clamp_code(float value, int top) noexcept {
  if (!(value > 0.0f)) return 0;
  return static_cast<std::uint8_t>(value >= static_cast<float>(top) ? static_cast<float>(top) : value);
}

// x ~ scale * (code - levels/2): the value of largest magnitude maps to code 0, which makes the scale's sign its
// opposite. Returns the scale before it is narrowed to f16, as the reference quantizer of GGUF does.
inline float symmetric_codes(std::span<const float> x, int levels, Codes32& codes) noexcept {
  float extreme = 0.0f;
  for (const float v : x) {
    if (std::fabs(v) > std::fabs(extreme)) extreme = v;
  }
  const int middle = levels / 2;
  const auto half = static_cast<float>(middle);
  const float scale = extreme / -half;
  const float inverse = scale == 0.0f ? 0.0f : 1.0f / scale;
  for (int i = 0; i < kBlock32; ++i) codes[i] = clamp_code(x[i] * inverse + (half + 0.5f), levels - 1);
  return scale;
}

struct AffineScale {
  float scale, minimum;
};

// x ~ scale * code + minimum.
inline AffineScale affine_codes(std::span<const float> x, int levels, Codes32& codes) noexcept {
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  const float minimum = *low;
  const float scale = (*high - minimum) / static_cast<float>(levels - 1);
  const float inverse = scale == 0.0f ? 0.0f : 1.0f / scale;
  for (int i = 0; i < kBlock32; ++i) codes[i] = clamp_code((x[i] - minimum) * inverse + 0.5f, levels - 1);
  return {scale, minimum};
}

}  // namespace millrace::quant
