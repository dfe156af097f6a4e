// Products of bf16 weights, or any rounded to bf16, with activations rounded to bf16.
#include "backend/cpu/body_includes.h"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/scalar.inc"
#include "backend/cpu/body/linear_output.inc"
#include "backend/cpu/body/linear_dense.inc"

struct FlushMode {};

float flushed(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

V flushed_fma(const V& a, const V& b, const V& c) {
  return map([&](int i) { return flushed(std::fma(flushed(a.lane[i]), flushed(b.lane[i]), flushed(c.lane[i]))); });
}

#include "backend/cpu/body/linear_bf16.inc"
#include "backend/cpu/body/linear_bf16_set.inc"
}  // namespace

namespace scalar {
KernelSet linear_bf16() { return bf16_kernels(Isa::kScalar); }
}  // namespace scalar
}  // namespace millrace::backend::cpu
