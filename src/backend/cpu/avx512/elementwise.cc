// Norms, activations, rotary embedding, quantization of activations.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx512.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx512.inc"
#include "backend/cpu/body/math.inc"
#include "backend/cpu/body/elementwise.inc"
#include "backend/cpu/body/quantize.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/elementwise_set.inc"
}  // namespace

namespace avx512 {
KernelSet elementwise() { return elementwise_kernels(Isa::kAvx512Vnni); }
}  // namespace avx512
}  // namespace millrace::backend::cpu
