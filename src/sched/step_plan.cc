#include "sched/step_plan.h"

namespace millrace::sched {

void StepPlan::clear() noexcept {
  preempted.clear();
  admitted.clear();
  refused.clear();
  rows.clear();
}

StepWork work_of(const StepPlan& plan) noexcept {
  StepWork work;
  for (const StepRow& row : plan.rows) {
    work.add(row.n_tokens, row.first);
    work.samples += row.samples() ? 1 + row.drafted() : 0;
  }
  return work;
}

}  // namespace millrace::sched
