#include "quant/grid_cells.h"
#include "quant/grids.gen.h"

namespace millrace::quant::formats {
namespace {

// value = d * (2 s + 1) * (grid +- 1/8): the low bytes of 32 grid rows, four bits of each row (three high bits of its
// number, the sign of 1/8), and four words: of each, 3-bit s of four times 16 values, and a quarter of the f16 d at the
// top.
constexpr int kHighAt = 32, kWordsAt = 48, kBytes = 56;

template <typename Cells>
void read(const std::byte* block, const Cells& cells, AffineBlock& out) noexcept {
  unsigned scale = 0;
  for (int w = 0; w < 4; ++w) {
    const unsigned word = load_bits(block + kWordsAt + 2 * w);
    scale |= (word >> 12) << (4 * w);
    for (int i = 0; i < 4; ++i) out.sub_scales[w * 4 + i] = static_cast<std::int8_t>(2 * (word >> (3 * i) & 7) + 1);
  }
  out.scale = static_cast<std::uint16_t>(scale);
  for (int g = 0; g < 8; ++g) {
    const unsigned all = load_bits(block + kHighAt + 2 * g);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const std::size_t high = all >> (4 * i) & 15;
      cells.put(g, i, std::to_integer<std::size_t>(block[4 * g + i]) | (high & 7) << 8, high >= 8);
    }
  }
}

void decompose(const std::byte* block, AffineBlock& out) noexcept { read(block, DeltaCodes<kIq1Grid>{out.codes}, out); }
void read_stored(const std::byte* block, GridBlock& out) noexcept { read(block, StoredCells{out}, out.scales); }

constexpr auto kLevelRows = pair_levels(kIq1Grid, kIq1Levels);
constexpr auto kFields = grid_fields<8>(kIq1Grid);
constexpr auto kCodes = level_codes<2>(kIq1Levels);

constexpr AffineForm kForm = {.code_bits = 3,
                              .scales = AffineForm::Scales::kProduct,
                              .scale_group = 16,
                              .zero = 16,
                              .scale_exponent = -3,
                              .levels = kIq1Levels.data(),
                              .decompose = decompose};

}  // namespace

const Grid kIq1MForm = {.form = {.row_values = 8, .index_bits = 11, .signs = GridSigns::kOfCell, .scale_bits = 3},
                        .first_fields = kFields.first,
                        .last_fields = kFields.last,
                        .codes = kCodes.data(),
                        .rows_of_8 = kLevelRows.data(),
                        .read = read_stored};

QuantFormat iq1_m() { return read_only_format<kForm, kSuperBlock, kBytes>("iq1_m", 29); }

}  // namespace millrace::quant::formats
