#include <array>
#include <cstring>

#include "backend/cpu/int8_form.h"
#include "backend/cpu/pack.h"
#include "quant/level_rows.h"

namespace millrace::backend::cpu {
namespace {

constexpr std::int64_t kBlockValues = 256;

}  // namespace

void pack_compact(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                  std::byte* panel) {
  const std::size_t row_bytes = format.row_bytes(k), block_bytes = static_cast<std::size_t>(format.block_bytes);
  for (std::size_t at = 0; at < row_bytes; at += block_bytes) {
    for (int r = 0; r < kPanelRows; ++r, panel += block_bytes) {
      if (r < n_rows) {
        std::memcpy(panel, rows + static_cast<std::size_t>(r) * row_bytes + at, block_bytes);
      } else {
        std::memset(panel, 0, block_bytes);  // scale 0
      }
    }
  }
}

void unpack_compact_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out) {
  const auto block_bytes = static_cast<std::size_t>(format.block_bytes);
  for (std::int64_t b = 0; b < k / kBlockValues; ++b) {
    const auto block = static_cast<std::size_t>(b * kPanelRows + row);
    format.unpack(panel + block * block_bytes, std::span(out + b * kBlockValues, kBlockValues));
  }
}

std::size_t expanded_panel_bytes(const quant::QuantFormat& format, std::int64_t k) {
  constexpr std::int64_t kGroups = kBlockValues / kGroup;
  const quant::AffineForm& form = format.affine;
  const std::size_t group = sub_scale_bytes(form) + kPanelRows * kGroup;
  return (header_bytes(form) + group * kGroups) * static_cast<std::size_t>(k / kBlockValues);
}

void expand_compact(const quant::QuantFormat& format, const std::byte* panel, std::int64_t k, std::byte* out) {
  const quant::AffineForm& form = format.affine;
  const quant::ExpandLevels expand = quant::find_level_rows(format);
  const int scales = kGroup / form.scale_group;  // of a group
  const std::size_t sub_bytes = sub_scale_bytes(form), group_bytes = sub_bytes + kPanelRows * kGroup;
  quant::AffineBlock numbers;
  for (std::int64_t b = 0; b < k / kBlockValues; ++b) {
    std::array<std::uint16_t, kPanelRows> of_block;
    std::byte* groups = out + header_bytes(form);
    for (std::size_t r = 0; r < kPanelRows; ++r, panel += format.block_bytes) {
      auto* codes = reinterpret_cast<std::uint8_t*>(groups + sub_bytes) + 4 * r;
      expand(panel, {codes, group_bytes}, numbers);
      of_block[r] = static_cast<std::uint16_t>(numbers.scale);
      std::byte* to = groups + r;
      const std::int8_t* from = numbers.sub_scales;
      for (int g = 0; g < kBlockValues / kGroup; ++g, to += group_bytes) {
        for (int s = 0; s < scales; ++s, ++from) to[s * kPanelRows] = static_cast<std::byte>(*from);
      }
    }
    std::memcpy(out, of_block.data(), sizeof of_block);
    out = groups + group_bytes * (kBlockValues / kGroup);
  }
}

}  // namespace millrace::backend::cpu
