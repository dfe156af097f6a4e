#include "quant/grid_cells.h"
#include "quant/grids.gen.h"

namespace millrace::quant::formats {
namespace {

// value = d * (0.5 + s) / 4 * +-grid: f16 d, the low bytes of 32 grid rows, 32 bytes of signs, two high bits of each
// row, and a 4-bit s for each 16 values.
constexpr int kLowAt = 2, kSignsAt = 34, kHighAt = 66, kScalesAt = 74, kBytes = 82;

template <typename Cells>
void read(const std::byte* block, const Cells& cells, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  put_odd_scales<16>(block + kScalesAt, out.sub_scales);
  for (int g = 0; g < 8; ++g) {
    const auto high = std::to_integer<std::size_t>(block[kHighAt + g]);
    const std::byte *low = block + kLowAt + 4 * g, *signs = block + kSignsAt + 4 * g;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const std::size_t row = std::to_integer<std::size_t>(low[i]) | (high >> (2 * i) & 3) << 8;
      cells.put(g, i, row, std::to_integer<std::uint8_t>(signs[i]));
    }
  }
}

void decompose(const std::byte* block, AffineBlock& out) noexcept { read(block, PairCodes<kIq2SGrid>{out.codes}, out); }
void read_stored(const std::byte* block, GridBlock& out) noexcept { read(block, StoredCells{out}, out.scales); }

constexpr auto kLevelRows = pair_levels(kIq2SGrid, kIq2Levels);
constexpr auto kFields = grid_fields<8>(kIq2SGrid);
constexpr auto kCodes = level_codes<2>(kIq2Levels);

constexpr AffineForm kForm = {.code_bits = 3,
                              .scales = AffineForm::Scales::kProduct,
                              .scale_group = 16,
                              .zero = 64,
                              .scale_exponent = -3,
                              .levels = kIq2Levels.data(),
                              .decompose = decompose};

}  // namespace

const Grid kIq2SForm = {.form = {.row_values = 8, .index_bits = 10, .signs = GridSigns::kEight, .scale_bits = 4},
                        .first_fields = kFields.first,
                        .last_fields = kFields.last,
                        .codes = kCodes.data(),
                        .rows_of_8 = kLevelRows.data(),
                        .read = read_stored};

QuantFormat iq2_s() { return read_only_format<kForm, kSuperBlock, kBytes>("iq2_s", 22); }

}  // namespace millrace::quant::formats
