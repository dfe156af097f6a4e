#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/format.h"

// Formats whose blocks of 256 values are rows of a grid, for kernels that keep weights in the bits of the file: what
// such a block says, and the grid in the forms in which it is looked up.

namespace millrace::quant {

// Codes of levels are level + kLevelZero, below 128.
inline constexpr int kLevelZero = 64;

enum class GridSigns : std::uint8_t {
  kEight,    // one bit for each value
  kSeven,    // for seven of eight: the number of negative ones is even
  kOfCell,   // no signs: one bit for each row, which takes 2 from its levels
  kOfGroup,  // one for each 32 values, likewise
};

// What of a format shapes the code that reads it.
struct GridForm {
  int row_values = 0;  // of a row of the grid, 8 or 4; 0 = no such format
  int index_bits = 0;  // the grid has 2^index_bits rows, 256 to 2048
  GridSigns signs = GridSigns::kEight;
  int scale_bits = 0;  // of a sub-scale s, which stands for 2 s + 1: 4 or 3

  friend constexpr bool operator==(const GridForm&, const GridForm&) = default;
};

// A block as stored: numbers of rows in the order of the values, and the sign bits of each eight values, bit i that of
// value i; with kOfCell and kOfGroup all bits are the same.
struct GridBlock {
  std::uint16_t rows[64];  // 32 with eight values a row
  std::uint8_t signs[32];
  AffineBlock scales;  // of which `scale` and `sub_scales` are set
};

struct Grid {
  GridForm form;
  // Bytes of the rows' fields, the levels' numbers: of rows of eight values the 2-bit fields of the first and of the
  // last four; of rows of four the 3-bit fields of the first and of the last two. Aligned to 64 bytes.
  const std::uint8_t *first_fields, *last_fields;
  const std::uint8_t* codes;  // level + kLevelZero by the low bits of a number that are a field: eight
  // Codes of whole rows, of which one is set.
  const std::uint64_t* rows_of_8 = nullptr;
  const std::uint32_t* rows_of_4 = nullptr;
  void (*read)(const std::byte* block, GridBlock& out) noexcept = nullptr;
};

// The level of value i of a block, and so its value divided by the scales.
int grid_level(const Grid& grid, const GridBlock& block, int i) noexcept;

// Null for formats without a grid.
const Grid* find_grid(const QuantFormat& format) noexcept;

namespace formats {
extern const Grid kIq1SForm, kIq1MForm, kIq2XxsForm, kIq2XsForm, kIq2SForm, kIq3XxsForm, kIq3SForm;
}  // namespace formats

}  // namespace millrace::quant
