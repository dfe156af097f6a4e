#pragma once

#include <cstdint>

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/adapter_pieces.h"
#include "backend/cpu/packed_linear.h"

namespace millrace::backend::cpu {

// Panels of outputs: what is a group of the next product's inputs belongs to one worker.
inline constexpr std::int64_t kColumnGrain = kGroup / kPanelRows;

// What adapters add to gate and up, and the rows in the form in which those of the product behind read them.
struct HiddenAdapters {
  AdapterOutputs up;
  std::span<const AdapterRows> down;  // of rows from `first_row` on
  std::int64_t first_row = 0;
  AdapterInput hidden;  // all rows; those of `down` are stored
};

// The first half of a feed-forward network, of an MLP or of one expert: activation(gate(x)) * up(x), or
// activation(up(x)). What the activation gives is at once converted to the form that the product behind it wants: as
// f32 it exists only for a few columns.
struct HiddenColumns {
  const PackedLinear* up = nullptr;  // gate and up stacked if gated
  std::int64_t expert = 0;           // of the weight
  const float* bias = nullptr;       // of the expert's outputs, or null
  std::int64_t width = 0;
  std::int64_t first_hidden = 0;  // the column of `hidden` that the first of these is: ranks have some each
  bool gated = true;
  Activation activation = Activation::kSilu;
  ActivationParameters parameters = {};
  TensorView plain = {};  // [rows, width] f32, which get the values instead of `hidden`; without data: they do not

  std::int64_t panels() const noexcept { return (width + kPanelRows - 1) / kPanelRows; }
  // Panels [first, last) for all rows of x, into `hidden`, whose rows are to be finished if they wait for that; `first`
  // and the number are even, but at the end. `chunk`: memory of chunk_bytes().
  void compute(const KernelSet& kernels, std::int64_t first, std::int64_t last, const ActivationRows& x,
               const ActivationRows& hidden, float* chunk, const HiddenAdapters* adapters = nullptr) const noexcept;
  static std::size_t chunk_bytes(std::int64_t rows) noexcept;
};

}  // namespace millrace::backend::cpu
