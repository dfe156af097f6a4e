// Products of bf16 weights, or any rounded to bf16, with activations rounded to bf16, where there is no instruction for
// them.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx2.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx2.inc"
#include "backend/cpu/body/linear_output.inc"
#include "backend/cpu/body/linear_dense.inc"
#include "backend/cpu/body/flush_mode.inc"
#include "backend/cpu/body/linear_bf16.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/linear_bf16_set.inc"
}  // namespace

namespace avx2 {
KernelSet linear_bf16() { return bf16_kernels(Isa::kAvx2); }
}  // namespace avx2
}  // namespace millrace::backend::cpu
