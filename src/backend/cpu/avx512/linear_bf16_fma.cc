// Products of bf16 weights, or any rounded to bf16, with activations rounded to bf16, where there is no instruction for
// them.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx512.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx512.inc"
#include "backend/cpu/body/linear_output.inc"
#include "backend/cpu/body/linear_dense.inc"
#include "backend/cpu/body/flush_mode.inc"
#include "backend/cpu/body/linear_bf16.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/linear_bf16_set.inc"
}  // namespace

namespace avx512 {
KernelSet linear_bf16_fma() { return bf16_kernels(Isa::kAvx512Vnni); }
}  // namespace avx512
}  // namespace millrace::backend::cpu
