// Attention over paged keys and values in bf16, two products an instruction: the bits of the other sets.
#include "backend/cpu/body_includes.h"

#include "backend/cpu/target_avx512_bf16.inc"

namespace millrace::backend::cpu {
namespace {
#include "backend/cpu/vec/avx512.inc"
#include "backend/cpu/body/math.inc"
#include "backend/cpu/body/exp2.inc"
#include "backend/cpu/vec/avx512_attention.inc"
#include "backend/cpu/vec/bf16_dot.inc"
#include "backend/cpu/body/attention.inc"
#include "backend/cpu/body/attention_dense.inc"
#include "backend/cpu/target_end.inc"
}  // namespace

namespace avx512 {
KernelSet attention_bf16() {
  KernelSet set;
  set.isa = Isa::kAvx512Bf16;
  set.attentions = {{"bf16", attend<Dense<Bf16Tile>>}, {"fp8_e4m3", attend<Dense<Fp8Tile>>}};
  set.merge_splits = merge_splits;
  return set;
}
}  // namespace avx512
}  // namespace millrace::backend::cpu
