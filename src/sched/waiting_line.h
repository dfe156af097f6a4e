#pragma once

#include <cstddef>
#include <vector>

#include "sched/plan_draft.h"

namespace millrace::sched {

// The order in which the waiting sequences of one step are tried: those bypassed max_bypassed times, by arrival, then
// the others in the policy's order. Sequences that are paused, or rejected by this plan, are left out. Engine thread
// only; its memory is reused from step to step.
class WaitingLine {
 public:
  // Back to the front of the line. Where ranks change while sequences wait, O(n) in the waiting ones.
  void start(const PlanDraft& draft);
  // The next sequence and its place; null at the end.
  Sequence* next(const PlanDraft& draft, Place& place);

 private:
  void line_up_all(const PlanDraft& draft);

  std::vector<Place> line_;         // the first of those waiting, or all, where ranks change
  std::vector<Sequence*> overdue_;  // bypassed too often, by arrival
  std::size_t next_overdue_ = 0, next_place_ = 0;
};

}  // namespace millrace::sched
