// Norms, activations, rotary embedding, quantization of activations.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx2.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx2.inc"
#include "backend/cpu/body/math.inc"
#include "backend/cpu/body/elementwise.inc"
#include "backend/cpu/body/quantize.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/elementwise_set.inc"
}  // namespace

namespace avx2 {
KernelSet elementwise() { return elementwise_kernels(Isa::kAvx2); }
}  // namespace avx2
}  // namespace millrace::backend::cpu
