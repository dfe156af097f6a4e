// Products of e4m3 numbers with activations rounded to bf16.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx2.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx2.inc"
#include "backend/cpu/vec/e4m3_avx2.inc"
#include "backend/cpu/body/linear_output.inc"
#include "backend/cpu/body/flush_mode.inc"
#include "backend/cpu/body/float8_product.inc"
#include "backend/cpu/body/linear_float8.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/linear_float8_set.inc"
}  // namespace

namespace avx2 {
KernelSet linear_float8() { return float8_kernels(Isa::kAvx2); }
}  // namespace avx2
}  // namespace millrace::backend::cpu
