#include <cstring>
#include <vector>

#include "backend/cpu/pack.h"

namespace millrace::backend::cpu {
namespace {

// Index of (k, row) in a dense panel.
std::size_t dense_index(bool pairs, std::int64_t k, int row) {
  const std::int64_t index = pairs ? (k / 2) * 2 * kPanelRows + row * 2 + k % 2 : k * kPanelRows + row;
  return static_cast<std::size_t>(index);
}

bool is_paired(const quant::QuantFormat& format) { return format.name == "bf16"; }

template <typename T>
void transpose_in(const std::byte* rows, int n_rows, std::int64_t k, bool pairs, std::byte* panel) {
  const auto* source = reinterpret_cast<const T*>(rows);
  auto* out = reinterpret_cast<T*>(panel);
  for (int r = 0; r < n_rows; ++r) {
    for (std::int64_t i = 0; i < k; ++i) out[dense_index(pairs, i, r)] = source[r * k + i];
  }
}

}  // namespace

std::size_t dense_panel_bytes(const quant::QuantFormat& format, std::int64_t k) {
  return static_cast<std::size_t>(format.block_bytes) * static_cast<std::size_t>(k * kPanelRows);
}

void pack_dense(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k, std::byte* panel) {
  if (n_rows < kPanelRows) std::memset(panel, 0, dense_panel_bytes(format, k));
  if (format.block_bytes == 4) {
    transpose_in<std::uint32_t>(rows, n_rows, k, false, panel);
  } else {
    transpose_in<std::uint16_t>(rows, n_rows, k, is_paired(format), panel);
  }
}

void unpack_dense_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out) {
  const std::size_t width = static_cast<std::size_t>(format.block_bytes);
  for (std::int64_t i = 0; i < k; ++i) {
    format.unpack(panel + dense_index(is_paired(format), i, row) * width, std::span(out + i, 1));
  }
}

std::size_t rounded_panel_bytes(const quant::QuantFormat&, std::int64_t k) {
  return static_cast<std::size_t>(2 * k * kPanelRows);
}

void pack_rounded(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                  std::byte* panel) {
  if (n_rows < kPanelRows) std::memset(panel, 0, rounded_panel_bytes(format, k));
  auto* out = reinterpret_cast<std::uint16_t*>(panel);
  std::vector<float> values(static_cast<std::size_t>(k));
  for (int r = 0; r < n_rows; ++r) {
    format.unpack(rows + static_cast<std::size_t>(r) * format.row_bytes(k), values);
    for (std::int64_t i = 0; i < k; ++i) {
      out[dense_index(true, i, r)] = f32_to_bf16(values[static_cast<std::size_t>(i)]);
    }
  }
}

void unpack_rounded_row(const quant::QuantFormat&, const std::byte* panel, int row, std::int64_t k, float* out) {
  const auto* in = reinterpret_cast<const std::uint16_t*>(panel);
  for (std::int64_t i = 0; i < k; ++i) out[i] = bf16_to_f32(in[dense_index(true, i, row)]);
}

std::size_t raw_panel_bytes(const quant::QuantFormat& format, std::int64_t k) {
  return format.row_bytes(k) * kPanelRows;
}

void pack_raw(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k, std::byte* panel) {
  const std::size_t used = format.row_bytes(k) * static_cast<std::size_t>(n_rows);
  std::memcpy(panel, rows, used);
  std::memset(panel + used, 0, raw_panel_bytes(format, k) - used);  // all-zero blocks are zeros in every format
}

void unpack_raw_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out) {
  format.unpack(panel + format.row_bytes(k) * static_cast<std::size_t>(row),
                std::span(out, static_cast<std::size_t>(k)));
}

}  // namespace millrace::backend::cpu
