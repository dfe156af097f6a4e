#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/block32.h"

// Arithmetic shared by the k-quants of GGUF: super-blocks of 256 values, cut into sub-blocks of 16 or 32 whose small
// integer scales (and minima) are multiples of one half-precision scale (and one minimum) of the super-block.

namespace millrace::quant {

inline constexpr int kSuperBlock = 256;

// The value as it is stored in 16 bits.
inline float as_half(float value) noexcept { return f16_to_f32(f32_to_f16(value)); }

// Fits x ~ scale * q with q in [-levels/2, levels/2 - 1] and a scale of either sign, which it returns; 0 for a block of
// zeros. It rounds with several candidate scales, refits each by least squares, and keeps the one with the least
// squared error.
float fit_symmetric(std::span<const float> x, int levels) noexcept;

// Fit of x ~ scale * q - minimum with q in [0, levels - 1], scale >= 0 and minimum >= 0.
struct SubBlockFit {
  float scale = 0.0f, minimum = 0.0f;
};
SubBlockFit fit_affine(std::span<const float> x, int levels) noexcept;

// round(value / step), limited to [low, high]; with step 0 it is 0 or the nearest bound.
int round_to_step(float value, float step, int low, int high) noexcept;

// The eight 6-bit scales and minima of q4_k and q5_k, packed in 12 bytes.
struct ScalesAndMinima {
  std::array<std::uint8_t, 8> scales{}, minima{};
};
ScalesAndMinima load_scales_and_minima(const std::byte* at) noexcept;
void store_scales_and_minima(std::byte* at, const ScalesAndMinima& values) noexcept;

// A super-block of q4_k or q5_k: its scale and minimum, the 6-bit ones of sub-blocks, and a code for each value.
struct AffineSuperBlock {
  float d = 0.0f, dmin = 0.0f;
  ScalesAndMinima sub;
  std::array<std::uint8_t, kSuperBlock> codes{};
};
AffineSuperBlock quantize_affine(std::span<const float> x, int levels) noexcept;
void dequantize_affine(const AffineSuperBlock& block, std::span<float> out) noexcept;
// Writes a block of q4_k, or of q5_k, which has 32 bytes of fifth bits in front of the nibbles.
void store_q4_k(const AffineSuperBlock& block, std::byte* at) noexcept;
void store_q5_k(const AffineSuperBlock& block, std::byte* at) noexcept;

// A super-block of q6_k: value = d * scales[i / 16] * (codes[i] - 32).
struct SignedSuperBlock {
  float d = 0.0f;
  std::array<std::int8_t, 16> scales{};
  std::array<std::uint8_t, kSuperBlock> codes{};
};
void store_q6_k(const SignedSuperBlock& block, std::byte* at) noexcept;

// 256 two-bit fields in 64 bytes, as in q2_k and q3_k: field i is bits 2*(i/32 % 4) of byte 32*(i/128) + i % 32.
constexpr int two_bit_byte(int i) noexcept { return i / 128 * 32 + i % 32; }
constexpr int two_bit_shift(int i) noexcept { return i / 32 % 4 * 2; }

// Codes of a whole super-block, in plain loops that the compiler turns into vectors (packing runs at the speed of
// these).
// 256 nibbles in 128 bytes: the low halves of `kRun` bytes, then their high halves, then the next `kRun` bytes.
template <int kRun>
inline void load_nibble_pairs(const std::byte* at, std::uint8_t* codes) noexcept {
  std::array<std::uint8_t, kSuperBlock / 2> bytes;
  std::memcpy(bytes.data(), at, bytes.size());
  for (int run = 0; run < kSuperBlock / 2; run += kRun, codes += 2 * kRun) {
    for (int i = 0; i < kRun; ++i) codes[i] = bytes[run + i] & 15;
    for (int i = 0; i < kRun; ++i) codes[kRun + i] = static_cast<std::uint8_t>(bytes[run + i] >> 4);
  }
}

// Reads 256 two-bit fields in the order of two_bit_byte() and two_bit_shift().
inline void load_bit_pairs(const std::byte* at, std::uint8_t* codes) noexcept {
  std::array<std::uint8_t, kSuperBlock / 4> bytes;
  std::memcpy(bytes.data(), at, bytes.size());
  for (int field = 0; field < 8; ++field) {
    for (int i = 0; i < 32; ++i) {
      codes[field * 32 + i] = static_cast<std::uint8_t>(bytes[field / 4 * 32 + i] >> (field % 4 * 2) & 3);
    }
  }
}

// Sets bit `to` of code 32 s + i to bit s of byte i (of 32).
inline void or_bit_plane(const std::byte* at, int to, std::uint8_t* codes) noexcept {
  std::array<std::uint8_t, 32> bytes;
  std::memcpy(bytes.data(), at, bytes.size());
  for (int s = 0; s < 8; ++s) {
    for (int i = 0; i < 32; ++i) {
      codes[s * 32 + i] = static_cast<std::uint8_t>(codes[s * 32 + i] | (bytes[i] >> s & 1) << to);
    }
  }
}

}  // namespace millrace::quant
