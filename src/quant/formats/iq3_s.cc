#include "quant/grid_cells.h"
#include "quant/grids.gen.h"

namespace millrace::quant::formats {
namespace {

// value = d * (1 + 2 s) * +-grid: f16 d, the low bytes of 64 grid rows of four values, one high bit of each row, 32
// bytes of signs, and a 4-bit s for each 32 values.
constexpr std::array<std::int8_t, 16> kLevels = {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15};
constexpr int kLowAt = 2, kHighAt = 66, kSignsAt = 74, kScalesAt = 106, kBytes = 110;

template <typename Cells>
void read(const std::byte* block, const Cells& cells, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  put_odd_scales<8>(block + kScalesAt, out.sub_scales);
  for (int g = 0; g < 8; ++g) {
    const auto high = std::to_integer<std::size_t>(block[kHighAt + g]);
    const std::byte *low = block + kLowAt + 8 * g, *signs = block + kSignsAt + 4 * g;
    const auto row = [&](int i) { return std::to_integer<std::size_t>(low[i]) | (high >> i & 1) << 8; };
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      cells.put(g, i, row(2 * i), row(2 * i + 1), std::to_integer<std::uint8_t>(signs[i]));
    }
  }
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  read(block, TripleCodes<kIq3SGrid>{out.codes}, out);
}
void read_stored(const std::byte* block, GridBlock& out) noexcept { read(block, StoredCells{out}, out.scales); }

constexpr auto kLevelRows = triple_levels(kIq3SGrid, kLevels);
constexpr auto kFields = grid_fields<6>(kIq3SGrid);
constexpr auto kCodes = level_codes<3>(kLevels);

constexpr AffineForm kForm = {.code_bits = 4,
                              .scales = AffineForm::Scales::kProduct,
                              .zero = 16,
                              .levels = kLevels.data(),
                              .decompose = decompose};

}  // namespace

const Grid kIq3SForm = {.form = {.row_values = 4, .index_bits = 9, .signs = GridSigns::kEight, .scale_bits = 4},
                        .first_fields = kFields.first,
                        .last_fields = kFields.last,
                        .codes = kCodes.data(),
                        .rows_of_4 = kLevelRows.data(),
                        .read = read_stored};

QuantFormat iq3_s() { return read_only_format<kForm, kSuperBlock, kBytes>("iq3_s", 21); }

}  // namespace millrace::quant::formats
