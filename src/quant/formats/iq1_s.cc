#include "quant/grid_cells.h"
#include "quant/grids.gen.h"

namespace millrace::quant::formats {
namespace {

// value = d * (2 s + 1) * (grid +- 1/8): f16 d, the low bytes of 32 grid rows, and for each 32 values a word of four
// times three high bits of rows, three bits of s and the sign of 1/8.
constexpr int kLowAt = 2, kWordsAt = 34, kBytes = 50;

template <typename Cells>
void read(const std::byte* block, const Cells& cells, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  for (int group = 0; group < 8; ++group) {
    const unsigned word = load_bits(block + kWordsAt + 2 * group);
    out.sub_scales[group] = static_cast<std::int8_t>(2 * (word >> 12 & 7) + 1);
    const bool minus = word >> 15 != 0;
    const std::byte* low = block + kLowAt + 4 * group;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const std::size_t high = word >> (3 * i) & 7;
      cells.put(group, i, std::to_integer<std::size_t>(low[i]) | high << 8, minus);
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
                              .zero = 16,
                              .scale_exponent = -3,
                              .levels = kIq1Levels.data(),
                              .decompose = decompose};

}  // namespace

const Grid kIq1SForm = {.form = {.row_values = 8, .index_bits = 11, .signs = GridSigns::kOfGroup, .scale_bits = 3},
                        .first_fields = kFields.first,
                        .last_fields = kFields.last,
                        .codes = kCodes.data(),
                        .rows_of_8 = kLevelRows.data(),
                        .read = read_stored};

QuantFormat iq1_s() { return read_only_format<kForm, kSuperBlock, kBytes>("iq1_s", 19); }

}  // namespace millrace::quant::formats
