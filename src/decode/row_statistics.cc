#include "decode/row_statistics.h"

#include <cstring>

namespace millrace::decode {
namespace {

namespace baseline {
#include "decode/row_statistics.inc"
}

#ifdef MILLRACE_X86
#include "backend/cpu/target_avx2.inc"
namespace avx2 {
#include "decode/row_statistics.inc"
}
#include "backend/cpu/target_end.inc"

#include "backend/cpu/target_avx512.inc"
namespace avx512 {
#include "decode/row_statistics.inc"
}
#include "backend/cpu/target_end.inc"
#endif

const RowKernels& best_kernels() noexcept {
  static const RowKernels chosen = row_kernels(detect_isa());
  return chosen;
}

// The last block, made whole with what changes nothing.
const float* padded(const float* x, std::size_t n, float (&block)[kScoreBlock]) noexcept {
  for (float& value : block) value = -__builtin_inff();
  std::memcpy(block, x, n * sizeof(float));
  return block;
}

}  // namespace

RowKernels row_kernels([[maybe_unused]] Isa isa) noexcept {
#ifdef MILLRACE_X86
  if (isa >= Isa::kAvx512Vnni) return {avx512::largest_of_block, avx512::mass_of_block};
  if (isa >= Isa::kAvx2) return {avx2::largest_of_block, avx2::mass_of_block};
#endif
  return {baseline::largest_of_block, baseline::mass_of_block};
}

bool block_maxima(const float* logits, std::size_t n, float* maxima) noexcept {
  const RowKernels& k = best_kernels();
  bool nan = false;
  std::size_t i = 0;
  for (; i + kScoreBlock <= n; i += kScoreBlock) *maxima++ = k.largest_of_block(logits + i, nan);
  float block[kScoreBlock];
  if (i < n) *maxima = k.largest_of_block(padded(logits + i, n - i, block), nan);
  return nan;
}

RowMass row_mass(const float* logits, std::size_t n, float largest, float threshold) noexcept {
  const RowKernels& k = best_kernels();
  RowMass mass;
  std::size_t i = 0;
  for (; i + kScoreBlock <= n; i += kScoreBlock) {
    mass.sum += static_cast<double>(k.mass_of_block(logits + i, largest, threshold, mass.larger));
  }
  float block[kScoreBlock];
  if (i < n)
    mass.sum += static_cast<double>(k.mass_of_block(padded(logits + i, n - i, block), largest, threshold, mass.larger));
  return mass;
}

}  // namespace millrace::decode
