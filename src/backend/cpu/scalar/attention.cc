// Attention over paged keys and values.
#include "backend/cpu/body_includes.h"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/scalar.inc"
#include "backend/cpu/body/math.inc"
#include "backend/cpu/body/exp2.inc"
#include "backend/cpu/vec/scalar_attention.inc"
#include "backend/cpu/vec/scalar_flush_mode.inc"
#include "backend/cpu/vec/bf16_fma.inc"
#include "backend/cpu/body/attention.inc"
#include "backend/cpu/body/kv_convert.inc"
#include "backend/cpu/body/attention_dense.inc"
#include "backend/cpu/body/attention_codes.inc"
#include "backend/cpu/body/attention_set.inc"
}  // namespace

namespace scalar {
KernelSet attention() { return attention_kernels(Isa::kScalar); }
}  // namespace scalar
}  // namespace millrace::backend::cpu
