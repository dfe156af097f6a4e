#include <cstring>

#include "backend/cpu/pack.h"

namespace millrace::backend::cpu {
namespace {

constexpr std::size_t kFloat8Head = kPanelRows * sizeof(float);

// Where value i of a row of a group lies behind the group's scales.
std::size_t float8_index(std::int64_t i, int row) {
  return static_cast<std::size_t>(i / 2 * 2 * kPanelRows + row * 2 + i % 2);
}
std::size_t group_panel_bytes(const quant::QuantFormat& format) {
  return kFloat8Head + static_cast<std::size_t>(format.block_values) * kPanelRows;
}

}  // namespace

std::size_t float8_panel_bytes(const quant::QuantFormat& format, std::int64_t k) {
  return group_panel_bytes(format) * static_cast<std::size_t>(k / format.block_values);
}

void pack_float8(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                 std::byte* panel) {
  if (n_rows < kPanelRows) std::memset(panel, 0, float8_panel_bytes(format, k));
  const std::size_t group_bytes = group_panel_bytes(format), row_bytes = format.row_bytes(k);
  for (int r = 0; r < n_rows; ++r) {
    const std::byte* from = rows + static_cast<std::size_t>(r) * row_bytes;
    for (std::int64_t g = 0; g < k / format.block_values; ++g, from += format.block_bytes) {
      std::byte* to = panel + static_cast<std::size_t>(g) * group_bytes;
      std::memcpy(to + static_cast<std::size_t>(r) * sizeof(float), from, sizeof(float));
      for (std::int64_t i = 0; i < format.block_values; ++i) {
        to[kFloat8Head + float8_index(i, r)] = from[sizeof(float) + static_cast<std::size_t>(i)];
      }
    }
  }
}

void unpack_float8_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out) {
  const std::size_t group_bytes = group_panel_bytes(format);
  for (std::int64_t g = 0; g < k / format.block_values; ++g, panel += group_bytes) {
    float scale;
    std::memcpy(&scale, panel + static_cast<std::size_t>(row) * sizeof scale, sizeof scale);
    for (std::int64_t i = 0; i < format.block_values; ++i) {
      *out++ = scale * e4m3_to_f32(std::to_integer<std::uint8_t>(panel[kFloat8Head + float8_index(i, row)]));
    }
  }
}

}  // namespace millrace::backend::cpu
