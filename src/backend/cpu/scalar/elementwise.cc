// Norms, activations, rotary embedding, quantization of activations.
#include "backend/cpu/body_includes.h"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/scalar.inc"
#include "backend/cpu/body/math.inc"
#include "backend/cpu/body/elementwise.inc"
#include "backend/cpu/body/quantize.inc"
#include "backend/cpu/body/elementwise_set.inc"
}  // namespace

namespace scalar {
KernelSet elementwise() { return elementwise_kernels(Isa::kScalar); }
}  // namespace scalar
}  // namespace millrace::backend::cpu
