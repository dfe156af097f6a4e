#include "quant/grid_form.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace millrace::quant {
namespace {

struct NamedGrid {
  std::string_view format;
  const Grid* grid;
};
constexpr NamedGrid kGrids[] = {
    {"iq1_s", &formats::kIq1SForm},   {"iq1_m", &formats::kIq1MForm}, {"iq2_xxs", &formats::kIq2XxsForm},
    {"iq2_xs", &formats::kIq2XsForm}, {"iq2_s", &formats::kIq2SForm}, {"iq3_xxs", &formats::kIq3XxsForm},
    {"iq3_s", &formats::kIq3SForm},
};

}  // namespace

int grid_level(const Grid& grid, const GridBlock& block, int i) noexcept {
  const int n = grid.form.row_values;
  const std::uint64_t row = n == 8 ? grid.rows_of_8[block.rows[i / 8]] : grid.rows_of_4[block.rows[i / 4]];
  const int level = static_cast<int>(row >> (8 * (i % n)) & 255u) - kLevelZero;
  if ((block.signs[i / 8] >> (i % 8) & 1) == 0) return level;
  return grid.form.signs == GridSigns::kOfCell || grid.form.signs == GridSigns::kOfGroup ? level - 2 : -level;
}

const Grid* find_grid(const QuantFormat& format) noexcept {
  const auto* found = std::ranges::find(kGrids, format.name, &NamedGrid::format);
  return found == std::end(kGrids) ? nullptr : found->grid;
}

}  // namespace millrace::quant
