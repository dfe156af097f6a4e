// The limits that kernels are measured against.
#include "backend/cpu/body_includes.h"

namespace millrace::backend::cpu {
namespace {
inline constexpr int kPeakChains = 2;  // of sixteen values: enough for any scalar unit
inline constexpr int kPeakInt8Rows = kPeakChains, kPeakInt8Quads = 1;
#include "backend/cpu/vec/scalar.inc"
#include "backend/cpu/body/peak.inc"
#include "backend/cpu/body/peak_set.inc"
}  // namespace

namespace scalar {
KernelSet peak() { return peak_kernels(Isa::kScalar); }
}  // namespace scalar
}  // namespace millrace::backend::cpu
