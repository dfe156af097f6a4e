#include "quant/grid_cells.h"
#include "quant/grids.gen.h"

namespace millrace::quant::formats {
namespace {

// value = d * (0.5 + s) / 4 * +-grid: f16 d, then for each 32 values four indices of grid rows and a word of four times
// seven signs and, in its top four bits, s.
constexpr int kBytes = 66;

template <typename Cells>
void read(const std::byte* block, const Cells& cells, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  const std::byte* at = block + 2;
  for (int group = 0; group < 8; ++group, at += 8) {
    const std::uint32_t word = load_word(at + 4);
    out.sub_scales[group] = static_cast<std::int8_t>(2 * (word >> 28) + 1);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      cells.put_even(group, i, std::to_integer<std::size_t>(at[i]), word >> (7 * i));
    }
  }
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  read(block, PairCodes<kIq2XxsGrid>{out.codes}, out);
}
void read_stored(const std::byte* block, GridBlock& out) noexcept { read(block, StoredCells{out}, out.scales); }

constexpr auto kLevelRows = pair_levels(kIq2XxsGrid, kIq2Levels);
constexpr auto kFields = grid_fields<8>(kIq2XxsGrid);
constexpr auto kCodes = level_codes<2>(kIq2Levels);

constexpr AffineForm kForm = {.code_bits = 3,
                              .scales = AffineForm::Scales::kProduct,
                              .zero = 64,
                              .scale_exponent = -3,
                              .levels = kIq2Levels.data(),
                              .decompose = decompose};

}  // namespace

const Grid kIq2XxsForm = {.form = {.row_values = 8, .index_bits = 8, .signs = GridSigns::kSeven, .scale_bits = 4},
                          .first_fields = kFields.first,
                          .last_fields = kFields.last,
                          .codes = kCodes.data(),
                          .rows_of_8 = kLevelRows.data(),
                          .read = read_stored};

QuantFormat iq2_xxs() { return read_only_format<kForm, kSuperBlock, kBytes>("iq2_xxs", 16); }

}  // namespace millrace::quant::formats
