#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels.h"
#include "quant/grid_form.h"

// The layout of compact panels: the bits of the file, none more, for 16 rows side by side, in the order in which they
// become vectors of codes as pack.h has them. Block after block of 256 values:
//   [scale f16 x 16]
//   [sub-scales]   of 4 bits: byte 16 i + r has that of row r's scale group i, and above it that of i + half of all;
//                  of 3 bits: three planes of bits, bit 16 i + r of each for scale group i
//   then for each group of 32 values
//   [indices]      low bytes of the numbers of grid rows, at compact_index(); bit b above them as a plane of bits in
//                  the same order
//   [signs]        quad j as a word of 64 bits, bit 4 r + i that of row r and value 4 j + i. With kSeven the last bits
//                  of odd quads are not kept: see sign_words(). kOfCell: bit 16 c + r of a word, kOfGroup: bit r.

namespace millrace::backend::cpu {

inline constexpr std::int64_t kGridBlock = 256;
inline constexpr int kGridGroups = kGridBlock / kGroup;

constexpr std::size_t compact_scale_bytes(const quant::GridForm& form, int scale_group) noexcept {
  return static_cast<std::size_t>(kPanelRows * (kGridBlock / scale_group) * form.scale_bits / 8);
}
// Numbers of grid rows of a group of a panel.
constexpr int compact_indices(const quant::GridForm& form) noexcept { return kPanelRows * kGroup / form.row_values; }
constexpr std::size_t compact_sign_bytes(const quant::GridForm& form) noexcept {
  using quant::GridSigns;
  switch (form.signs) {
    case GridSigns::kEight: return 64;
    case GridSigns::kSeven: return 56;
    case GridSigns::kOfCell: return 8;
    case GridSigns::kOfGroup: return 2;
  }
  return 0;
}
constexpr std::size_t compact_index_bytes(const quant::GridForm& form) noexcept {
  return static_cast<std::size_t>(compact_indices(form) * form.index_bits / 8);
}
constexpr std::size_t compact_group_bytes(const quant::GridForm& form) noexcept {
  return compact_index_bytes(form) + compact_sign_bytes(form);
}

// Where a group has the index of the panel's row r for its grid row i: 8 bytes of two rows' cells side by side, cell by
// cell; of rows of four values two times 64, where pairs of quads lie so that they can be interleaved within 16 bytes.
constexpr int compact_index(const quant::GridForm& form, int i, int r) noexcept {
  if (form.row_values == 8) return 8 * (r / 2) + 2 * i + r % 2;
  return 64 * (i / 4) + 16 * (r / 4) + 8 * (i % 4 / 2) + 4 * (r % 4 / 2) + 2 * (i % 2) + r % 2;
}

// One bit of each four.
inline constexpr std::uint64_t kQuadOnes = 0x1111111111111111u;

// The signs of quads 0 to 7 as seven words: the even quads, and the first three odd ones, which have bits of the last
// one in the place of their own last bits.
constexpr void store_sign_words(const std::uint64_t (&quads)[8], std::uint64_t (&words)[7]) noexcept {
  for (int i = 0; i < 4; ++i) words[i] = quads[2 * i];
  for (int i = 0; i < 3; ++i) {
    words[4 + i] = (quads[2 * i + 1] & 7 * kQuadOnes) | (quads[7] >> i & kQuadOnes) << 3;
  }
}
// The signs of quads 0 to 7 of such words, where the number of negative ones of eight values is even.
constexpr void load_sign_words(const std::uint64_t (&words)[7], std::uint64_t (&quads)[8]) noexcept {
  quads[7] = 0;
  for (int i = 0; i < 3; ++i) {
    quads[2 * i + 1] = words[4 + i] & 7 * kQuadOnes;
    quads[7] |= (words[4 + i] >> 3 & kQuadOnes) << i;
  }
  for (int i = 0; i < 4; ++i) {
    quads[2 * i] = words[i];
    std::uint64_t odd = quads[2 * i] ^ quads[2 * i + 1];
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    quads[2 * i + 1] |= (odd & kQuadOnes) << 3;
  }
}

}  // namespace millrace::backend::cpu
