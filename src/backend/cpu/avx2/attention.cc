// Attention over paged keys and values.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx2.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx2.inc"
#include "backend/cpu/vec/dot_avx2.inc"
#include "backend/cpu/body/math.inc"
#include "backend/cpu/body/exp2.inc"
#include "backend/cpu/vec/avx2_attention.inc"
#include "backend/cpu/body/flush_mode.inc"
#include "backend/cpu/vec/bf16_fma.inc"
#include "backend/cpu/body/attention.inc"
#include "backend/cpu/body/kv_convert.inc"
#include "backend/cpu/body/attention_dense.inc"
#include "backend/cpu/body/attention_codes.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/attention_set.inc"
}  // namespace

namespace avx2 {
KernelSet attention() { return attention_kernels(Isa::kAvx2); }
}  // namespace avx2
}  // namespace millrace::backend::cpu
