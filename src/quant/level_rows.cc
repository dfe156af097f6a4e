#include "quant/level_rows.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace millrace::quant {
namespace {

struct LevelRows {
  std::string_view format;
  ExpandLevels expand;
};
constexpr LevelRows kLevelRows[] = {
    {"iq1_s", formats::expand_iq1_s},   {"iq1_m", formats::expand_iq1_m}, {"iq2_xxs", formats::expand_iq2_xxs},
    {"iq2_xs", formats::expand_iq2_xs}, {"iq2_s", formats::expand_iq2_s}, {"iq3_xxs", formats::expand_iq3_xxs},
    {"iq3_s", formats::expand_iq3_s},
};

}  // namespace

ExpandLevels find_level_rows(const QuantFormat& format) noexcept {
  const auto* found = std::ranges::find(kLevelRows, format.name, &LevelRows::format);
  return found == std::end(kLevelRows) ? nullptr : found->expand;
}

}  // namespace millrace::quant
