// The limit that products of bf16 are measured against.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx512_bf16.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx512.inc"

double peak_bf16(std::int64_t steps) noexcept {
  constexpr int kChains = 16;
  V acc[kChains];
  for (int i = 0; i < kChains; ++i) acc[i] = broadcast(static_cast<float>(i));
  const __m512bh x = (__m512bh)_mm512_set1_epi32(0x3f803f00), w = (__m512bh)_mm512_set1_epi32(0x3f003f80);
  for (std::int64_t step = 0; step < steps; ++step) {
    for (int i = 0; i < kChains; ++i) acc[i] = _mm512_dpbf16_ps(acc[i], x, w);
  }
  for (int i = 1; i < kChains; ++i) acc[0] = add(acc[0], acc[i]);
  volatile float sink = reduce_add(acc[0]);
  static_cast<void>(sink);
  return 2.0 * 32.0 * kChains * static_cast<double>(steps);
}

#include "backend/cpu/target_end.inc"
}  // namespace

namespace avx512 {
KernelSet peak_bf16() {
  KernelSet set;
  set.isa = Isa::kAvx512Bf16;
  set.peak_bf16 = cpu::peak_bf16;
  return set;
}
}  // namespace avx512
}  // namespace millrace::backend::cpu
