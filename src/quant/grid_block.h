#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "quant/format.h"
#include "quant/k_quant.h"

// Arithmetic shared by GGUF's i-quants (iq1_s ... iq3_s): super-blocks of 256 values whose codes are rows of a grid
// (grids.gen.h) and signs; and unpacking by an AffineForm.

namespace millrace::quant {

// The eight 2-bit fields of a grid's row as the low bits of eight bytes.
constexpr std::uint64_t spread_pairs(std::uint16_t row) noexcept {
  std::uint64_t x = row;
  x = (x | x << 24) & 0x000000ff000000ffu;
  x = (x | x << 12) & 0x000f000f000f000fu;
  return (x | x << 6) & 0x0303030303030303u;
}
// The four 3-bit fields of a grid's row as the low bits of four bytes.
constexpr std::uint32_t spread_triples(std::uint16_t row) noexcept {
  std::uint32_t x = row;
  x = (x | x << 10) & 0x003f003fu;
  return (x | x << 5) & 0x07070707u;
}
// Bit i of the byte as bit `to` of byte i.
template <int to>
constexpr std::uint64_t spread_bits(std::uint8_t byte) noexcept {
  // The product puts bit i at bit 7 of byte 7 - i.
  return __builtin_bswap64((byte * 0x8040201008040201u) & 0x8080808080808080u) >> (7 - to);
}
// Seven signs as stored and the eighth, which makes the number of negative ones even.
constexpr std::uint8_t even_signs(std::uint32_t stored) noexcept {
  const std::uint32_t seven = stored & 127u;
  return static_cast<std::uint8_t>(seven | (static_cast<unsigned>(std::popcount(seven)) & 1u) << 7);
}

// Eight codes of a form whose levels are a grid's values, then their negatives: from rows of 2 bits a value,
inline void put_pairs(std::uint16_t row, std::uint8_t signs, std::uint8_t* codes) noexcept {
  const std::uint64_t word = spread_pairs(row) | spread_bits<2>(signs);
  std::memcpy(codes, &word, sizeof word);
}
// and from two rows of 3 bits a value.
inline void put_triples(std::uint16_t low, std::uint16_t high, std::uint8_t signs, std::uint8_t* codes) noexcept {
  const std::uint64_t word =
      spread_triples(low) | static_cast<std::uint64_t>(spread_triples(high)) << 32 | spread_bits<3>(signs);
  std::memcpy(codes, &word, sizeof word);
}

// 2s + 1 of 4-bit numbers s, two a byte, eight of them at a time.
template <int kCount>
inline void put_odd_scales(const std::byte* at, std::int8_t* scales) noexcept {
  static_assert(kCount % 8 == 0);
  for (int i = 0; i < kCount; i += 8) {
    std::uint32_t stored;
    std::memcpy(&stored, at + i / 2, sizeof stored);
    std::uint64_t x = stored;
    x = (x | x << 16) & 0x0000ffff0000ffffu;
    x = (x | x << 8) & 0x00ff00ff00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
    x = 2 * x + 0x0101010101010101u;
    std::memcpy(scales + i, &x, sizeof x);
  }
}

inline std::uint32_t load_word(const std::byte* at) noexcept {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// -8 and 25 and so on: the values of the grids with signs, as levels of codes of 3 bits; those of codes 3 and 7 are
// never used.
inline constexpr std::array<std::int8_t, 16> kIq2Levels = {8, 25, 43, 0, -8, -25, -43, 0};
// 8 g + 1 and 8 g - 1 for g in {-1, 0, 1}.
inline constexpr std::array<std::int8_t, 16> kIq1Levels = {-7, 1, 9, 0, -9, -1, 7, 0};

// Unpacks a block as its form says: scale times level. Exactly what the reference computes where that product is exact
// in f32.
inline void unpack_by_form(const AffineForm& form, const std::byte* block, std::span<float> out) noexcept {
  AffineBlock parts;
  form.decompose(block, parts);
  const auto n = static_cast<std::size_t>(form.scale_group);
  for (std::size_t at = 0; at < out.size(); at += n) {
    const float scale = form.scale(parts, static_cast<int>(at / n));
    for (std::size_t i = at; i < at + n; ++i) out[i] = scale * static_cast<float>(form.steps(parts.codes[i]));
  }
}

// A format that is only read, with the form kForm.
template <const AffineForm& kForm, int kValues, int kBytes>
QuantFormat read_only_format(std::string_view name, int gguf_type) {
  constexpr auto kUnpack = [](const std::byte* block, std::span<float> out) noexcept {
    unpack_by_form(kForm, block, out);
  };
  return {.name = name,
          .gguf_type = gguf_type,
          .safetensors_dtype = "",
          .block_values = kValues,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<kUnpack, kValues, kBytes>,
          .pack = nullptr,
          .max_relative_error = 0.0f,
          .affine = kForm};
}

}  // namespace millrace::quant
