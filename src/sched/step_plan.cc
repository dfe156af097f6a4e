#include "sched/step_plan.h"

#include <iterator>

namespace millrace::sched {

void StepPlan::clear() noexcept {
  preempted.clear();
  admitted.clear();
  rejected.clear();
  rows.clear();
}

std::int64_t StepRow::branch_tokens() const noexcept {
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < branches; ++i) tokens += 1 + std::ssize(sequence->branches[i]);
  return tokens;
}

void StepRow::add_to(StepWork& work) const noexcept {
  work.add(n_tokens, first);
  work.samples += samples() ? 1 + drafted() : 0;
  for (std::size_t i = 0; i < branches; ++i) {
    const std::int64_t rows = 1 + std::ssize(sequence->branches[i]);
    work.add(rows, length - 1);
    work.samples += rows;
  }
}

StepWork work_of(const StepPlan& plan) noexcept {
  StepWork work;
  for (const StepRow& row : plan.rows) row.add_to(work);
  return work;
}

}  // namespace millrace::sched
