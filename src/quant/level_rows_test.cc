// Levels of a block, as kernels of compact panels read them, beside the codes of its AffineForm.

#include "quant/level_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace millrace::quant {
namespace {

constexpr std::size_t kGroupStride = 16 * 32 + 40;  // a panel's, with something between the groups

TEST(LevelRows, AreThoseOfTheFormsCodes) {
  std::mt19937 random(7);
  int formats = 0;
  for (const QuantFormat& format : all_formats()) {
    const ExpandLevels expand = find_level_rows(format);
    if (expand == nullptr) continue;
    ++formats;
    const AffineForm& form = format.affine;
    std::vector<std::byte> block(static_cast<std::size_t>(format.block_bytes));
    for (int trial = 0; trial < 200; ++trial) {
      std::ranges::generate(block, [&] { return static_cast<std::byte>(random()); });
      AffineBlock codes{}, scales{};
      form.decompose(block.data(), codes);
      std::vector<std::uint8_t> expanded(8 * kGroupStride, 0xaa);
      expand(block.data(), {expanded.data() + 12, kGroupStride}, scales);  // row 3 of the panel
      ASSERT_EQ(scales.scale, codes.scale) << format.name;
      ASSERT_TRUE(std::equal(scales.sub_scales, scales.sub_scales + 256 / form.scale_group, codes.sub_scales));
      for (int i = 0; i < 256; ++i) {
        const auto at = static_cast<std::size_t>(i / 32) * kGroupStride + static_cast<std::size_t>(i % 32 / 4) * 64 +
                        12 + static_cast<std::size_t>(i % 4);
        ASSERT_EQ(expanded[at] - kLevelZero, form.steps(codes.codes[i])) << format.name << " value " << i;
        expanded[at] = 0xaa;
      }
      EXPECT_TRUE(std::ranges::all_of(expanded, [](std::uint8_t byte) { return byte == 0xaa; })) << "other bytes";
    }
  }
  EXPECT_EQ(formats, 7);
}

}  // namespace
}  // namespace millrace::quant
