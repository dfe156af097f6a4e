#pragma once

#include <optional>
#include <span>

#include "sched/admission_resource.h"
#include "sched/plan_draft.h"
#include "sched/step_admission.h"

namespace millrace::sched {

// One step's plan. Pure: the same queues, pages and view give the same plan; what it keeps from call to call is memory.
// Three stages: pages for what runs, at the cost of the last in line where they are short; admission of what waits; the
// token budget, in the policy's order; what is left of it is for draft tokens.
class StepPlanner {
 public:
  // All arguments but the kinds outlive it.
  StepPlanner(const Config& config, const SchedulePolicy& policy, const kv::PagedCache& cache,
              std::span<const AdmissionResourceKind> resources);

  // Why the sequence could not be served even if it were alone: kResourceExhausted naming what it needs and the limit.
  std::optional<Error> never_fits(const Sequence& sequence) const { return admission_.never_fits(sequence); }
  void plan(const StepInput& input, StepPlan& plan);

 private:
  PlanDraft draft_;
  StepAdmission admission_;
};

}  // namespace millrace::sched
