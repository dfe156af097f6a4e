#pragma once

#include "comm/link_speed.h"
#include "sched/step_cost.h"

namespace millrace::sched {

// How ranks divide the work of a step.
struct SharedWork {
  // Work of the rank that has most, in parts of what an even division would give it; at least 1.
  double imbalance = 1.0;
  int hosts = 1;                                               // alike, each with as many ranks
  int stages = 1;                                              // of which one computes at a time, as the step is alone
  double exchanges = 0.0, row_bytes = 0.0, logit_bytes = 0.0;  // of a step, of a token, and of a row of logits
};

// Predicts the cost of a step that is alone on ranks which share a model. `one`: of a process that has all processors
// of one of the hosts. Ranks of a host divide what that process had, so they are as fast together, but for imbalance
// and exchanges; what is constant in a step stays. No exchange overlaps with computing.
StepCost shared_step_cost(const StepCost& one, const SharedWork& work, const comm::LinkSpeed& link) noexcept;

}  // namespace millrace::sched
