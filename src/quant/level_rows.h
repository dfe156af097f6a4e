#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/format.h"

// Blocks of formats whose levels are rows of a grid, as the levels themselves: for kernels that read weights as the
// file has them, a block at a time, and multiply bytes.

namespace millrace::quant {

// Codes are level + kLevelZero, below 128.
inline constexpr int kLevelZero = 64;
inline constexpr std::size_t kQuadStride = 64;

// Where the 256 codes of a block go: values 4j ... 4j + 3 of group g of 32 to codes + g * group_stride + j * 64. That
// is where a row's bytes lie in a panel of 16 rows; a caller with another row adds 4 bytes.
struct LevelTarget {
  std::uint8_t* codes;
  std::size_t group_stride;
};

// Writes what a block's values are: value = scale * sub_scale * level, with the scales of the format's AffineForm.
using ExpandLevels = void (*)(const std::byte* block, const LevelTarget& to, AffineBlock& scales) noexcept;

// Null for formats without such levels, and for those whose AffineForm takes little more than their bits.
ExpandLevels find_level_rows(const QuantFormat& format) noexcept;

namespace formats {
void expand_iq1_s(const std::byte* block, const LevelTarget& to, AffineBlock& scales) noexcept;
void expand_iq1_m(const std::byte* block, const LevelTarget& to, AffineBlock& scales) noexcept;
void expand_iq2_xxs(const std::byte* block, const LevelTarget& to, AffineBlock& scales) noexcept;
void expand_iq2_xs(const std::byte* block, const LevelTarget& to, AffineBlock& scales) noexcept;
void expand_iq2_s(const std::byte* block, const LevelTarget& to, AffineBlock& scales) noexcept;
void expand_iq3_xxs(const std::byte* block, const LevelTarget& to, AffineBlock& scales) noexcept;
void expand_iq3_s(const std::byte* block, const LevelTarget& to, AffineBlock& scales) noexcept;
}  // namespace formats

}  // namespace millrace::quant
