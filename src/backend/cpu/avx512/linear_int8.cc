// Products of block formats with int8 activations.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx512.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx512.inc"
#include "backend/cpu/body/linear_output.inc"
#include "backend/cpu/vec/plain_codes.inc"
#include "backend/cpu/body/int8_many_rows.inc"
#include "backend/cpu/body/int8_tiles.inc"
#include "backend/cpu/body/linear_int8_many.inc"
#include "backend/cpu/body/linear_int8.inc"
#include "backend/cpu/vec/grid_avx512.inc"
#include "backend/cpu/body/linear_compact.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/int8_forms.inc"
#include "backend/cpu/body/linear_int8_set.inc"
}  // namespace

namespace avx512 {
KernelSet linear_int8() { return int8_kernels(Isa::kAvx512Vnni); }
}  // namespace avx512
}  // namespace millrace::backend::cpu
