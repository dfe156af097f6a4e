#include <cstring>

#include "backend/cpu/pack.h"

namespace millrace::backend::cpu {
namespace {

// A block of int8_row.
constexpr std::size_t kRowScaleBytes = sizeof(float), kRowBlockBytes = kRowScaleBytes + kGroup;
constexpr std::size_t kGroupBytes = std::size_t{kPanelRows} * kGroup;
constexpr int kZero = 128;

// Byte i of quad j of a row within a panel's group.
std::size_t code_at(int row, int quad) noexcept {
  return static_cast<std::size_t>(quad) * 64 + static_cast<std::size_t>(row) * 4;
}

}  // namespace

std::size_t row_scaled_panel_bytes(const quant::QuantFormat&, std::int64_t k) {
  return kPanelRows * kRowScaleBytes + static_cast<std::size_t>(k / kGroup) * kGroupBytes;
}

void pack_row_scaled(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                     std::byte* panel) {
  std::memset(panel, 0, kPanelRows * kRowScaleBytes);
  std::byte* codes = panel + kPanelRows * kRowScaleBytes;
  std::memset(codes, kZero, row_scaled_panel_bytes(format, k) - kPanelRows * kRowScaleBytes);
  for (int r = 0; r < n_rows; ++r) {
    const std::byte* block = rows + static_cast<std::size_t>(r) * format.row_bytes(k);
    std::memcpy(panel + static_cast<std::size_t>(r) * kRowScaleBytes, block, kRowScaleBytes);
    for (std::int64_t g = 0; g < k / kGroup; ++g, block += kRowBlockBytes) {
      std::byte* group = codes + static_cast<std::size_t>(g) * kGroupBytes;
      for (int i = 0; i < kGroup; ++i) {
        group[code_at(r, i / 4) + static_cast<std::size_t>(i % 4)] =
            block[kRowScaleBytes + static_cast<std::size_t>(i)];
      }
    }
  }
}

void unpack_row_scaled_row(const quant::QuantFormat&, const std::byte* panel, int row, std::int64_t k, float* out) {
  float scale;
  std::memcpy(&scale, panel + static_cast<std::size_t>(row) * kRowScaleBytes, kRowScaleBytes);
  for (std::int64_t i = 0; i < k; ++i) {
    const std::byte* group = panel + kPanelRows * kRowScaleBytes + static_cast<std::size_t>(i / kGroup) * kGroupBytes;
    const auto in_group = static_cast<int>(i % kGroup);
    const std::byte code = group[code_at(row, in_group / 4) + static_cast<std::size_t>(in_group % 4)];
    out[i] = scale * static_cast<float>(std::to_integer<int>(code) - kZero);
  }
}

}  // namespace millrace::backend::cpu
