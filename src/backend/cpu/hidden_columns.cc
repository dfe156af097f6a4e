#include "backend/cpu/hidden_columns.h"

#include <algorithm>

namespace millrace::backend::cpu {
namespace {

// Gate and up are computed a chunk of columns at a time: as many as stay in the first cache, as memory is read from
// another place after each, and at least so many.
constexpr std::int64_t kMinChunkColumns = 64;  // a multiple of a group of columns
constexpr std::int64_t kChunkValues = 2048;

std::int64_t chunk_columns(std::int64_t rows) noexcept {
  return std::max(kMinChunkColumns, kChunkValues / rows / kMinChunkColumns * kMinChunkColumns);
}

void put_rows(const KernelSet& kernels, const HiddenAdapters& adapters, std::int64_t rows, std::int64_t column,
              std::int64_t columns, const float* values, std::int64_t stride) noexcept {
  for (const AdapterRows& adapter : adapters.down) {
    const std::int64_t first = std::max<std::int64_t>(0, adapter.first_row - adapters.first_row);
    const std::int64_t end = std::min(rows, adapter.first_row + adapter.n_rows - adapters.first_row);
    for (std::int64_t r = first; r < end; ++r) adapters.hidden.put(kernels, r, column, values + r * stride, columns);
  }
}

}  // namespace

std::size_t HiddenColumns::chunk_bytes(std::int64_t rows) noexcept {
  return static_cast<std::size_t>(2 * rows * chunk_columns(rows)) * sizeof(float);
}

void HiddenColumns::compute(const KernelSet& kernels, std::int64_t first, std::int64_t last, const ActivationRows& x,
                            const ActivationRows& hidden, float* chunk, const HiddenAdapters* adapters) const noexcept {
  const std::int64_t rows = x.rows(), gate_panels = gated ? panels() : 0;
  const std::int64_t stride = chunk_columns(rows), step = stride / kPanelRows;
  float* gate = gated ? chunk + rows * stride : nullptr;
  for (std::int64_t panel = first; panel < last; panel += step) {
    const std::int64_t end = std::min(last, panel + step);
    const std::int64_t column = panel * kPanelRows, columns = std::min(width, end * kPanelRows) - column;
    const AdaptedColumns of_gate{panel, end, up->column(panel), bias, gate, stride};
    const AdaptedColumns of_up{
        gate_panels + panel, gate_panels + end, up->column(gate_panels + panel), bias, chunk, stride};
    AheadOfPieces ahead;
    if (adapters != nullptr) {
      if (gated) adapters->up.add_ahead(of_gate, ahead);
      adapters->up.add_ahead(of_up, ahead);
    }
    AheadStream* stream = ahead.stream(ahead_steps((gated ? 2 : 1) * (end - panel), rows, up->k()));
    if (gated) {
      up->multiply(panel, end,
                   {.x = x,
                    .bias = bias,
                    .accumulate = false,
                    .out = gate,
                    .out_stride = stride,
                    .expert = expert,
                    .ahead = stream});
    }
    up->multiply(gate_panels + panel, gate_panels + end,
                 {.x = x,
                  .bias = bias,
                  .accumulate = false,
                  .out = chunk,
                  .out_stride = stride,
                  .expert = expert,
                  .ahead = stream});
    if (adapters != nullptr) {
      if (gated) adapters->up.apply(kernels, of_gate);
      adapters->up.apply(kernels, of_up);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      float* values = chunk + r * stride;
      if (gated) {
        kernels.activate(activation, parameters, gate + r * stride, values, columns, values);
      } else {
        kernels.activate(activation, parameters, values, nullptr, columns, values);
      }
      if (plain.data != nullptr) {
        std::copy_n(values, columns, plain.row(r) + column);
      } else {
        hidden.put(kernels, r, first_hidden + column, values, columns);
      }
    }
    if (adapters != nullptr && plain.data == nullptr)
      put_rows(kernels, *adapters, rows, column, columns, chunk, stride);
  }
}

}  // namespace millrace::backend::cpu
