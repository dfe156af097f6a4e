// Attention as tasks of the step's program.

#include "backend/cpu/attention_plan.h"
#include "backend/cpu/cpu_backend.h"

namespace millrace::backend::cpu {

void CpuBackend::attend(const AttendArgs& args, DeviceView out) {
  const HostAttendArgs host = on_host(args);
  if (plans_used_ == plans_.size()) plans_.emplace_back();
  AttentionPlan* plan = &plans_[plans_used_++];
  plan->prepare(kernels_, host, on_host(out), threads());
  partials_.reserve(plan->partial_bytes());
  workers_.reserve(attend_scratch_bytes(host.kv.geometry.padded_key_dim(), host.kv.geometry.padded_value_dim()));
  program_->add_tasks(plan->tasks(), [=, this](std::int64_t task, int worker) {
    plan->run(task, partials_.as<float>(), workers_.of(worker));
  });
}

}  // namespace millrace::backend::cpu
