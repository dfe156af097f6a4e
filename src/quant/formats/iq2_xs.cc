#include "quant/grid_cells.h"
#include "quant/grids.gen.h"

namespace millrace::quant::formats {
namespace {

// value = d * (0.5 + s) / 4 * +-grid: f16 d, for each 8 values a word of 9 bits of grid row and 7 of signs, and a 4-bit
// s for each 16 values.
constexpr int kCodesAt = 2, kScalesAt = 66, kBytes = 74;

template <typename Cells>
void read(const std::byte* block, const Cells& cells, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  put_odd_scales<16>(block + kScalesAt, out.sub_scales);
  for (int g = 0; g < 8; ++g) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const unsigned word = load_bits(block + kCodesAt + 8 * g + 2 * i);
      cells.put_even(g, i, word & 511u, word >> 9);
    }
  }
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  read(block, PairCodes<kIq2XsGrid>{out.codes}, out);
}
void read_stored(const std::byte* block, GridBlock& out) noexcept { read(block, StoredCells{out}, out.scales); }

constexpr auto kLevelRows = pair_levels(kIq2XsGrid, kIq2Levels);
constexpr auto kFields = grid_fields<8>(kIq2XsGrid);
constexpr auto kCodes = level_codes<2>(kIq2Levels);

constexpr AffineForm kForm = {.code_bits = 3,
                              .scales = AffineForm::Scales::kProduct,
                              .scale_group = 16,
                              .zero = 64,
                              .scale_exponent = -3,
                              .levels = kIq2Levels.data(),
                              .decompose = decompose};

}  // namespace

const Grid kIq2XsForm = {.form = {.row_values = 8, .index_bits = 9, .signs = GridSigns::kSeven, .scale_bits = 4},
                         .first_fields = kFields.first,
                         .last_fields = kFields.last,
                         .codes = kCodes.data(),
                         .rows_of_8 = kLevelRows.data(),
                         .read = read_stored};

QuantFormat iq2_xs() { return read_only_format<kForm, kSuperBlock, kBytes>("iq2_xs", 17); }

}  // namespace millrace::quant::formats
