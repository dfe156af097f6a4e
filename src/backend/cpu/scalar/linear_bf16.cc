// Products of bf16 weights, or any rounded to bf16, with activations rounded to bf16.
#include "backend/cpu/body_includes.h"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/scalar.inc"
#include "backend/cpu/body/linear_output.inc"
#include "backend/cpu/body/linear_dense.inc"
#include "backend/cpu/vec/scalar_flush_mode.inc"
#include "backend/cpu/body/linear_bf16.inc"
#include "backend/cpu/body/linear_bf16_set.inc"
}  // namespace

namespace scalar {
KernelSet linear_bf16() { return bf16_kernels(Isa::kScalar); }
}  // namespace scalar
}  // namespace millrace::backend::cpu
