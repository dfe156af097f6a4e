// Products of e4m3 numbers with activations rounded to bf16, by vdpbf16ps.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx512_bf16.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx512.inc"
#include "backend/cpu/vec/e4m3_avx512.inc"
#include "backend/cpu/body/linear_output.inc"
#include "backend/cpu/body/flush_mode.inc"

struct Float8Product {
  static __m512bh widened(const std::byte* p) { return (__m512bh)e4m3_to_bf16_pairs(p); }
  static __m512bh loaded(const std::byte* p) { return (__m512bh)_mm512_loadu_si512(p); }
  static __m512bh values(const std::uint16_t* x) {
    std::int32_t pair;
    std::memcpy(&pair, x, 4);
    return (__m512bh)_mm512_set1_epi32(pair);
  }
  static V add(V acc, __m512bh w, __m512bh x) { return _mm512_dpbf16_ps(acc, w, x); }
};

#include "backend/cpu/body/linear_float8.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/linear_float8_set.inc"
}  // namespace

namespace avx512 {
KernelSet linear_float8() { return float8_kernels(Isa::kAvx512Bf16); }
}  // namespace avx512
}  // namespace millrace::backend::cpu
