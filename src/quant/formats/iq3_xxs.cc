#include "quant/grid_cells.h"
#include "quant/grids.gen.h"

namespace millrace::quant::formats {
namespace {

// value = d * (0.5 + s) / 2 * +-grid: f16 d, 64 indices of grid rows of four values, and for each 32 values a word of
// four times seven signs and, in its top four bits, s.
constexpr std::array<std::int8_t, 16> kLevels = {4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62};
constexpr int kCodesAt = 2, kWordsAt = 66, kBytes = 98;

template <typename Cells>
void read(const std::byte* block, const Cells& cells, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  for (int group = 0; group < 8; ++group) {
    const std::uint32_t word = load_word(block + kWordsAt + 4 * group);
    out.sub_scales[group] = static_cast<std::int8_t>(2 * (word >> 28) + 1);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const std::byte* rows = block + kCodesAt + group * 8 + 2 * i;
      cells.put_even(group, i, std::to_integer<std::size_t>(rows[0]), std::to_integer<std::size_t>(rows[1]),
                     word >> (7 * i));
    }
  }
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  read(block, TripleCodes<kIq3XxsGrid>{out.codes}, out);
}
void read_stored(const std::byte* block, GridBlock& out) noexcept { read(block, StoredCells{out}, out.scales); }

constexpr auto kLevelRows = triple_levels(kIq3XxsGrid, kLevels);
constexpr auto kFields = grid_fields<6>(kIq3XxsGrid);
constexpr auto kCodes = level_codes<3>(kLevels);

constexpr AffineForm kForm = {.code_bits = 4,
                              .scales = AffineForm::Scales::kProduct,
                              .zero = 64,
                              .scale_exponent = -2,
                              .levels = kLevels.data(),
                              .decompose = decompose};

}  // namespace

const Grid kIq3XxsForm = {.form = {.row_values = 4, .index_bits = 8, .signs = GridSigns::kSeven, .scale_bits = 4},
                          .first_fields = kFields.first,
                          .last_fields = kFields.last,
                          .codes = kCodes.data(),
                          .rows_of_4 = kLevelRows.data(),
                          .read = read_stored};

QuantFormat iq3_xxs() { return read_only_format<kForm, kSuperBlock, kBytes>("iq3_xxs", 18); }

}  // namespace millrace::quant::formats
