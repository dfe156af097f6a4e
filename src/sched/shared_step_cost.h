#pragma once

#include "comm/link_speed.h"
#include "sched/step_cost.h"

namespace millrace::sched {

// How ranks divide the work of a step.
struct SharedWork {
  // What the ranks that the others wait for take for their part of it, of what a process takes for the whole that has
  // all processors of one host: those of the stages one behind the other.
  double part = 1.0;
  double exchanges = 0.0, row_bytes = 0.0, logit_bytes = 0.0;  // of a step, of a token, and of a row of logits
};

// Predicts the cost of a step that is alone on ranks which share a model. `one`: of that process. What is constant in a
// step stays. No exchange overlaps with computing.
StepCost shared_step_cost(const StepCost& one, const SharedWork& work, const comm::LinkSpeed& link) noexcept;

}  // namespace millrace::sched
