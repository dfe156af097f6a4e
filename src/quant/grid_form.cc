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

const Grid* find_grid(const QuantFormat& format) noexcept {
  const auto* found = std::ranges::find(kGrids, format.name, &NamedGrid::format);
  return found == std::end(kGrids) ? nullptr : found->grid;
}

}  // namespace millrace::quant
