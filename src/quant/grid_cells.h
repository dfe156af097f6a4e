#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "quant/grid_block.h"
#include "quant/grid_form.h"

// The 32 cells of a block of an i-quant, eight values each, as its file has them: rows of a grid, and signs. A format
// reads its block once (`read`), and gives the cells to one of these, which writes codes for its AffineForm, or keeps
// the rows' numbers.

namespace millrace::quant {

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

// Grid::first_fields and last_fields: the low kBits of each row, and those above.
template <std::size_t n>
struct alignas(64) GridFields {
  std::uint8_t first[n], last[n];
};
template <unsigned kBits, std::size_t n>
consteval GridFields<n> grid_fields(const std::array<std::uint16_t, n>& grid) {
  GridFields<n> fields{};
  for (std::size_t row = 0; row < n; ++row) {
    fields.first[row] = static_cast<std::uint8_t>(grid[row] & ((1u << kBits) - 1u));
    fields.last[row] = static_cast<std::uint8_t>(grid[row] >> kBits);
  }
  return fields;
}
// Grid::codes of fields of kBits bits.
template <unsigned kBits>
consteval std::array<std::uint8_t, 8> level_codes(const std::array<std::int8_t, 16>& levels) {
  std::array<std::uint8_t, 8> codes{};
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<std::uint8_t>(levels[i & ((1u << kBits) - 1u)] + kLevelZero);
  }
  return codes;
}

// Cells of grids of pairs, as codes of 3 bits, the third one the sign.
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

// Cells of iq1: 8 times the grid's -1, 0 or 1, and 1 more or less.
template <const auto& kGrid>
struct DeltaCodes {
  std::uint8_t* codes;
  void put(int g, int i, std::size_t row, bool minus) const noexcept {
    put_pairs(kGrid[row], minus ? 0xff : 0, codes + g * 32 + i * 8);
  }
};

// Cells of any grid as they are stored.
struct StoredCells {
  GridBlock& out;
  void put(int g, int i, std::size_t row, std::uint8_t signs) const noexcept {
    out.rows[g * 4 + i] = static_cast<std::uint16_t>(row);
    out.signs[g * 4 + i] = signs;
  }
  void put(int g, int i, std::size_t row, bool minus) const noexcept {
    put(g, i, row, static_cast<std::uint8_t>(minus ? 0xff : 0));
  }
  void put_even(int g, int i, std::size_t row, std::uint32_t signs) const noexcept {
    put(g, i, row, even_signs(signs));
  }
  void put(int g, int i, std::size_t low, std::size_t high, std::uint8_t signs) const noexcept {
    out.rows[g * 8 + 2 * i] = static_cast<std::uint16_t>(low);
    out.rows[g * 8 + 2 * i + 1] = static_cast<std::uint16_t>(high);
    out.signs[g * 4 + i] = signs;
  }
  void put_even(int g, int i, std::size_t low, std::size_t high, std::uint32_t signs) const noexcept {
    put(g, i, low, high, even_signs(signs));
  }
};

}  // namespace millrace::quant
