// The limits that kernels are measured against.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx2.inc"

namespace millrace::backend::cpu {
namespace {
inline constexpr int kPeakChains = 6;                        // of two registers each, of sixteen
inline constexpr int kPeakInt8Rows = 4, kPeakInt8Quads = 8;  // words of four rows, widened once for eight quads
#include "backend/cpu/vec/avx2.inc"
#include "backend/cpu/vec/dot_avx2.inc"
#include "backend/cpu/body/peak.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/peak_set.inc"
}  // namespace

namespace avx2 {
KernelSet peak() { return peak_kernels(Isa::kAvx2); }
}  // namespace avx2
}  // namespace millrace::backend::cpu
