// The limits that kernels are measured against.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avxvnni.inc"

namespace millrace::backend::cpu {
namespace {
inline constexpr int kPeakChains = 6;  // of two registers each, of sixteen
inline constexpr int kPeakInt8Rows = kPeakChains, kPeakInt8Quads = 1;
#include "backend/cpu/vec/avx2.inc"
#include "backend/cpu/vec/dot_avxvnni.inc"
#include "backend/cpu/body/peak.inc"
#include "backend/cpu/target_end.inc"
#include "backend/cpu/body/peak_set.inc"
}  // namespace

namespace avxvnni {
KernelSet peak() { return peak_kernels(Isa::kAvxVnni); }
}  // namespace avxvnni
}  // namespace millrace::backend::cpu
