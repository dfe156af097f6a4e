#include <algorithm>

#include "backend/cpu/kernels.h"

namespace millrace::backend::cpu {

KernelSet select_kernels(Isa isa) {
  std::vector<const KernelSet*> usable;
  for (const KernelSet& set : all_kernel_sets()) {
    if (set.isa <= isa && has_isa(set.isa)) usable.push_back(&set);
  }
  std::stable_sort(usable.begin(), usable.end(), [](auto* a, auto* b) { return a->isa > b->isa; });
  KernelSet best;
  best.isa = isa;
  const auto take = [](auto& target, auto candidate) {
    if (target == nullptr) target = candidate;
  };
  for (const KernelSet* set : usable) {
    best.linears.insert(best.linears.end(), set->linears.begin(), set->linears.end());
    best.attentions.insert(best.attentions.end(), set->attentions.begin(), set->attentions.end());
    take(best.merge_splits, set->merge_splits);
    take(best.to_f16, set->to_f16);
    take(best.to_int8, set->to_int8);
    take(best.quantize, set->quantize);
    take(best.quantize_remainder, set->quantize_remainder);
    take(best.to_bf16, set->to_bf16);
    take(best.rms_norm, set->rms_norm);
    take(best.layer_norm, set->layer_norm);
    take(best.activate, set->activate);
    take(best.rope, set->rope);
    take(best.add, set->add);
    take(best.scale, set->scale);
    take(best.clamp, set->clamp);
    take(best.gate, set->gate);
    take(best.peak_f32, set->peak_f32);
    take(best.peak_int8, set->peak_int8);
    take(best.peak_bf16, set->peak_bf16);
    take(best.read_stream, set->read_stream);
  }
  // A kernel for any format comes after every kernel made for one.
  std::stable_partition(best.linears.begin(), best.linears.end(),
                        [](const LinearKernel& k) { return k.format != "*"; });
  return best;
}

}  // namespace millrace::backend::cpu
