#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace millrace::decode {

inline constexpr std::size_t kScoreBlock = 256;  // logits, of which the largest is known

// The largest finite logit of each block of kScoreBlock, -infinity where none is. Returns whether a logit is NaN.
bool block_maxima(const float* logits, std::size_t n, float* maxima) noexcept;

struct RowMass {
  double sum = 0.0;         // of exp(logit - largest) over finite logits, relative error below 1e-6
  std::int64_t larger = 0;  // finite logits above `threshold`
};
// Sums run in sixteen lanes over a block, then over blocks: the same bits on every processor.
RowMass row_mass(const float* logits, std::size_t n, float largest, float threshold) noexcept;

// The two over one whole block, for that instruction set or the best one below it.
struct RowKernels {
  float (*largest_of_block)(const float* x, bool& nan) noexcept;
  float (*mass_of_block)(const float* x, float largest, float threshold, std::int64_t& larger) noexcept;
};
RowKernels row_kernels(Isa isa) noexcept;

}  // namespace millrace::decode
