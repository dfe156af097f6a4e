// Attention as tasks of the step's program.

#include "backend/cpu/attention_plan.h"
#include "backend/cpu/cpu_backend.h"

namespace millrace::backend::cpu {

void CpuBackend::attend(const AttendArgs& args, TensorView out) {
  if (plans_used_ == plans_.size()) plans_.emplace_back();
  AttentionPlan* plan = &plans_[plans_used_++];
  plan->prepare(kernels_, args, out, threads());
  partials_.reserve(plan->partial_bytes());
  reserve_workers(attend_scratch_bytes(args.kv.geometry.padded_dim()));
  program_->add_tasks(plan->tasks(), [=, this](std::int64_t task, int worker) {
    plan->run(task, partials_.as<float>(), memory_of(worker));
  });
}

}  // namespace millrace::backend::cpu
