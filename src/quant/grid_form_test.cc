// Blocks of grid rows, as kernels of compact panels read them, beside the codes of their AffineForm.

#include "quant/grid_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace millrace::quant {
namespace {

TEST(GridForm, SaysTheLevelsOfTheFormsCodes) {
  std::mt19937 random(7);
  int formats = 0;
  for (const QuantFormat& format : all_formats()) {
    const Grid* grid = find_grid(format);
    if (grid == nullptr) continue;
    ++formats;
    const AffineForm& form = format.affine;
    std::vector<std::byte> bytes(static_cast<std::size_t>(format.block_bytes));
    for (int trial = 0; trial < 200; ++trial) {
      std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
      AffineBlock codes{};
      GridBlock block{};
      form.decompose(bytes.data(), codes);
      grid->read(bytes.data(), block);
      ASSERT_EQ(block.scales.scale, codes.scale) << format.name;
      ASSERT_TRUE(std::equal(codes.sub_scales, codes.sub_scales + 256 / form.scale_group, block.scales.sub_scales));
      for (int i = 0; i < 256; ++i) {
        ASSERT_EQ(grid_level(*grid, block, i), form.steps(codes.codes[i])) << format.name << " value " << i;
      }
    }
  }
  EXPECT_EQ(formats, 7);
}

// The bits of a block: indices, signs, scales and the block's own scale, and nothing else.
TEST(GridForm, SaysHowManyBitsABlockHas) {
  for (const QuantFormat& format : all_formats()) {
    const Grid* grid = find_grid(format);
    if (grid == nullptr) continue;
    const GridForm& form = grid->form;
    const int signs[] = {256, 224, 32, 8};
    const int bits = 16 + 256 / form.row_values * form.index_bits + 256 / format.affine.scale_group * form.scale_bits +
                     signs[static_cast<int>(form.signs)];
    EXPECT_EQ(bits, 8 * format.block_bytes) << format.name;
  }
}

TEST(GridForm, HasTheFieldsOfItsRows) {
  for (const QuantFormat& format : all_formats()) {
    const Grid* grid = find_grid(format);
    if (grid == nullptr) continue;
    const int half = grid->form.row_values / 2, width = half == 4 ? 2 : 3;
    for (int row = 0; row < 1 << grid->form.index_bits; ++row) {
      const std::uint64_t codes = half == 4 ? grid->rows_of_8[row] : grid->rows_of_4[row];
      for (int i = 0; i < 2 * half; ++i) {
        const int fields = i < half ? grid->first_fields[row] : grid->last_fields[row];
        const int field = fields >> (width * (i % half)) & ((1 << width) - 1);
        ASSERT_EQ(grid->codes[field], codes >> (8 * i) & 255u) << format.name << " row " << row;
      }
    }
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(grid->first_fields) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(grid->last_fields) % 64, 0u);
  }
}

}  // namespace
}  // namespace millrace::quant
