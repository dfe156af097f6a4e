// The limits that kernels are measured against.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx512.inc"

namespace millrace::backend::cpu {
namespace {
inline constexpr int kPeakChains = 12;  // and as many broadcasts, of 32 registers
inline constexpr int kPeakInt8Rows = kPeakChains, kPeakInt8Quads = 1;
#include "backend/cpu/vec/avx512.inc"
#include "backend/cpu/body/peak.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/peak_set.inc"
}  // namespace

namespace avx512 {
KernelSet peak() { return peak_kernels(Isa::kAvx512Vnni); }
}  // namespace avx512
}  // namespace millrace::backend::cpu
