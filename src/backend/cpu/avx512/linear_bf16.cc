// Products of bf16 weights, or any rounded to bf16, with activations rounded to bf16: two k at a time with vdpbf16ps,
// which flushes denormals by itself.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx512_bf16.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx512.inc"
#include "backend/cpu/body/linear_output.inc"
#include "backend/cpu/body/linear_dense.inc"

struct Bf16Product {
  using Mode = NoMode;
  using X = std::uint16_t;
  static constexpr int kStep = 2;
  static const std::uint16_t* input(const LinearArgs& args, std::int64_t row) { return args.x.bf16 + row * args.x.k; }
  template <int>
  static __m512bh weights(const std::byte* panel, std::int64_t k) {
    return (__m512bh)_mm512_loadu_si512(panel + static_cast<std::size_t>(k) * kPanelRows * 2);
  }
  static __m512bh values(const std::uint16_t* x) {
    std::int32_t pair;
    std::memcpy(&pair, x, 4);
    return (__m512bh)_mm512_set1_epi32(pair);
  }
  static V add(V acc, __m512bh w, __m512bh x) { return _mm512_dpbf16_ps(acc, w, x); }
};

#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/linear_bf16_set.inc"
}  // namespace

namespace avx512 {
KernelSet linear_bf16() { return bf16_kernels(Isa::kAvx512Bf16); }
}  // namespace avx512
}  // namespace millrace::backend::cpu
