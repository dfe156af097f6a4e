#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace millrace::decode {

inline constexpr std::size_t kScoreBlock = 256;  // logits per block of block_maxima()

// Writes the largest finite logit of each block of kScoreBlock logits, -infinity where none is finite. Returns whether
// any logit is NaN.
bool block_maxima(const float* logits, std::size_t n, float* maxima) noexcept;

struct RowMass {
  double sum = 0.0;         // sum of exp(logit - largest) over finite logits; relative error below 1e-6
  std::int64_t larger = 0;  // number of finite logits above the threshold
};
// Computes RowMass of n logits. Sums run in sixteen lanes within a block, then over blocks: the same bits on every
// processor.
RowMass row_mass(const float* logits, std::size_t n, float largest, float threshold) noexcept;

// Kernels for one whole block of kScoreBlock logits.
struct RowKernels {
  float (*largest_of_block)(const float* x, bool& nan) noexcept;
  float (*mass_of_block)(const float* x, float largest, float threshold, std::int64_t& larger) noexcept;
};
// The kernels for that instruction set, or for the best one below it.
RowKernels row_kernels(Isa isa) noexcept;

}  // namespace millrace::decode
