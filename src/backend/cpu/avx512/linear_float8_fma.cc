// Products of e4m3 numbers with activations rounded to bf16.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx512.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx512.inc"
#include "backend/cpu/vec/e4m3_avx512.inc"
#include "backend/cpu/body/linear_output.inc"
#include "backend/cpu/body/flush_mode.inc"
#include "backend/cpu/body/float8_product.inc"
#include "backend/cpu/body/linear_float8.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/linear_float8_set.inc"
}  // namespace

namespace avx512 {
KernelSet linear_float8_fma() { return float8_kernels(Isa::kAvx512Vnni); }
}  // namespace avx512
}  // namespace millrace::backend::cpu
