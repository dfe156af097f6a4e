// Products of e4m3 numbers with activations rounded to bf16.
#include "backend/cpu/body_includes.h"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/scalar.inc"
#include "backend/cpu/vec/e4m3_scalar.inc"
#include "backend/cpu/body/linear_output.inc"
#include "backend/cpu/vec/scalar_flush_mode.inc"
#include "backend/cpu/body/float8_product.inc"
#include "backend/cpu/body/linear_float8.inc"
#include "backend/cpu/body/linear_float8_set.inc"
}  // namespace

namespace scalar {
KernelSet linear_float8() { return float8_kernels(Isa::kScalar); }
}  // namespace scalar
}  // namespace millrace::backend::cpu
