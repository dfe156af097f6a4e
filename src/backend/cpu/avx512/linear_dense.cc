// Products of f32, f16 and bf16 weights, and of any format unpacked on the fly.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx512.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx512.inc"
#include "backend/cpu/body/linear_output.inc"
#include "backend/cpu/body/linear_dense.inc"
#include "backend/cpu/body/linear_int8_16.inc"
#include "backend/cpu/body/linear_unpack.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/linear_dense_set.inc"
}  // namespace

namespace avx512 {
KernelSet linear_dense() { return dense_kernels(Isa::kAvx512Vnni); }
}  // namespace avx512
}  // namespace millrace::backend::cpu
