#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "quant/grid_block.h"
#include "quant/level_rows.h"

// The 32 cells of a block of an i-quant, eight values each, as its file has them: rows of a grid, and signs. A format
// reads its block once (`read`), and gives the cells to one of these, which writes codes for its AffineForm, or levels.

namespace millrace::quant {

inline constexpr std::uint64_t kByteOnes = 0x0101010101010101u;

// Bytes of 127 where a bit is set.
constexpr std::uint64_t sign_bytes(std::uint8_t bits) noexcept { return spread_bits<0>(bits) * 127u; }

// By signs, or by seven signs as stored, which need the eighth.
consteval std::array<std::uint64_t, 256> all_sign_bytes() {
  std::array<std::uint64_t, 256> all{};
  for (unsigned signs = 0; signs < 256; ++signs) all[signs] = sign_bytes(static_cast<std::uint8_t>(signs));
  return all;
}
consteval std::array<std::uint64_t, 128> all_even_sign_bytes() {
  std::array<std::uint64_t, 128> all{};
  for (unsigned signs = 0; signs < 128; ++signs) all[signs] = sign_bytes(even_signs(signs));
  return all;
}
inline constexpr std::array<std::uint64_t, 256> kSignBytes = all_sign_bytes();
inline constexpr std::array<std::uint64_t, 128> kEvenSignBytes = all_even_sign_bytes();

// The rows of a grid whose cells have so many bits, as bytes of level + kLevelZero.
template <typename Bytes, unsigned kCellBits, std::size_t n>
consteval std::array<Bytes, n> level_bytes(const std::array<std::uint16_t, n>& grid,
                                           const std::array<std::int8_t, 16>& levels) {
  std::array<Bytes, n> rows{};
  for (std::size_t row = 0; row < n; ++row) {
    for (unsigned i = 0; i < sizeof(Bytes); ++i) {
      const int level = levels[grid[row] >> (kCellBits * i) & ((1u << kCellBits) - 1u)] + kLevelZero;
      rows[row] |= static_cast<Bytes>(level) << (8 * i);
    }
  }
  return rows;
}
template <std::size_t n>
consteval auto pair_levels(const std::array<std::uint16_t, n>& grid, const std::array<std::int8_t, 16>& levels) {
  return level_bytes<std::uint64_t, 2>(grid, levels);
}
template <std::size_t n>
consteval auto triple_levels(const std::array<std::uint16_t, n>& grid, const std::array<std::int8_t, 16>& levels) {
  return level_bytes<std::uint32_t, 3>(grid, levels);
}

// Cell i of group g, four cells a group.
inline void put_cell(std::uint64_t codes, int g, int i, const LevelTarget& to) noexcept {
  std::uint8_t* at =
      to.codes + static_cast<std::size_t>(g) * to.group_stride + static_cast<std::size_t>(i) * 2 * kQuadStride;
  const auto low = static_cast<std::uint32_t>(codes), high = static_cast<std::uint32_t>(codes >> 32);
  std::memcpy(at, &low, sizeof low);
  std::memcpy(at + kQuadStride, &high, sizeof high);
}
// 128 - code, which is level's negative plus kLevelZero, where bytes of `signs` are 127. No byte carries.
inline std::uint64_t with_signs(std::uint64_t codes, std::uint64_t signs) noexcept {
  return (codes ^ signs) + (signs & kByteOnes);
}

// Cells of grids of pairs: as codes of 3 bits, the third one the sign,
template <const auto& kGrid>
struct PairCodes {
  std::uint8_t* codes;
  void put(int g, int i, std::size_t row, std::uint8_t signs) const noexcept {
    put_pairs(kGrid[row], signs, codes + g * 32 + i * 8);
  }
  void put_even(int g, int i, std::size_t row, std::uint32_t signs) const noexcept {
    put(g, i, row, even_signs(signs));
  }
};
// and as levels; kRows are those of pair_levels().
template <const auto& kRows>
struct PairLevels {
  LevelTarget to;  // a copy, which the bytes that are written cannot be part of
  void put(int g, int i, std::size_t row, std::uint8_t signs) const noexcept {
    put_cell(with_signs(kRows[row], kSignBytes[signs]), g, i, to);
  }
  void put_even(int g, int i, std::size_t row, std::uint32_t signs) const noexcept {
    put_cell(with_signs(kRows[row], kEvenSignBytes[signs & 127u]), g, i, to);
  }
};

// Cells of grids of triples, two rows of four values each.
template <const auto& kGrid>
struct TripleCodes {
  std::uint8_t* codes;
  void put(int g, int i, std::size_t low, std::size_t high, std::uint8_t signs) const noexcept {
    put_triples(kGrid[low], kGrid[high], signs, codes + g * 32 + i * 8);
  }
  void put_even(int g, int i, std::size_t low, std::size_t high, std::uint32_t signs) const noexcept {
    put(g, i, low, high, even_signs(signs));
  }
};
template <const auto& kRows>
struct TripleLevels {
  LevelTarget to;  // a copy, which the bytes that are written cannot be part of
  static std::uint64_t both(std::size_t low, std::size_t high) noexcept {
    return kRows[low] | static_cast<std::uint64_t>(kRows[high]) << 32;
  }
  void put(int g, int i, std::size_t low, std::size_t high, std::uint8_t signs) const noexcept {
    put_cell(with_signs(both(low, high), kSignBytes[signs]), g, i, to);
  }
  void put_even(int g, int i, std::size_t low, std::size_t high, std::uint32_t signs) const noexcept {
    put_cell(with_signs(both(low, high), kEvenSignBytes[signs & 127u]), g, i, to);
  }
};

// Cells of iq1: 8 times the grid's -1, 0 or 1, and 1 more or less.
template <const auto& kGrid>
struct DeltaCodes {
  std::uint8_t* codes;
  void put(int g, int i, std::size_t row, bool minus) const noexcept {
    put_pairs(kGrid[row], minus ? 0xff : 0, codes + g * 32 + i * 8);
  }
};
// kRows: of the levels with 1 more.
template <const auto& kRows>
struct DeltaLevels {
  LevelTarget to;  // a copy, which the bytes that are written cannot be part of
  void put(int g, int i, std::size_t row, bool minus) const noexcept {
    put_cell(kRows[row] - (minus ? 2 * kByteOnes : 0), g, i, to);
  }
};

}  // namespace millrace::quant
