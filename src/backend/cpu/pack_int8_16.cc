#include <cstring>

#include "backend/cpu/pack.h"

namespace millrace::backend::cpu {
namespace {

// A block of int8_16, and that of sixteen rows.
constexpr std::size_t kScale16Bytes = 2, kBlock16Bytes = kScale16Bytes + 16, kPanel16Bytes = kPanelRows * kBlock16Bytes;

// Where value i of a row is within such a block.
std::size_t code_of(int row, int i) noexcept {
  return kPanelRows * kScale16Bytes + static_cast<std::size_t>(i / 2 * 2 * kPanelRows + row * 2 + i % 2);
}

}  // namespace

std::size_t int8_16_panel_bytes(const quant::QuantFormat&, std::int64_t k) {
  return static_cast<std::size_t>(k / 16) * kPanel16Bytes;
}

void pack_int8_16(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                  std::byte* panel) {
  std::memset(panel, 0, int8_16_panel_bytes(format, k));
  for (int r = 0; r < n_rows; ++r) {
    const std::byte* block = rows + static_cast<std::size_t>(r) * format.row_bytes(k);
    std::byte* to = panel;
    for (std::int64_t b = 0; b < k / 16; ++b, block += kBlock16Bytes, to += kPanel16Bytes) {
      std::memcpy(to + static_cast<std::size_t>(r) * kScale16Bytes, block, kScale16Bytes);
      for (int i = 0; i < 16; ++i) to[code_of(r, i)] = block[kScale16Bytes + static_cast<std::size_t>(i)];
    }
  }
}

void unpack_int8_16_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out) {
  for (std::int64_t b = 0; b < k / 16; ++b, panel += kPanel16Bytes, out += 16) {
    std::byte block[kBlock16Bytes];
    std::memcpy(block, panel + static_cast<std::size_t>(row) * kScale16Bytes, kScale16Bytes);
    for (int i = 0; i < 16; ++i) block[kScale16Bytes + static_cast<std::size_t>(i)] = panel[code_of(row, i)];
    format.unpack(block, std::span(out, 16));
  }
}

}  // namespace millrace::backend::cpu
