#pragma once

#include <optional>
#include <span>

#include "sched/admission_resource.h"
#include "sched/plan_draft.h"
#include "sched/step_admission.h"

namespace millrace::sched {

// Plans one step. Pure: the same queues, pages and view give the same plan; it keeps nothing but memory from call to
// call. It runs three stages over a PlanDraft: find_pages(), StepAdmission, share_budget(). Engine thread only.
class StepPlanner {
 public:
  // Config, policy and cache must outlive the planner.
  StepPlanner(const Config& config, const SchedulePolicy& policy, const kv::PagedCache& cache,
              std::span<const AdmissionResourceKind> resources);

  // Why the sequence could not be served even alone: kResourceExhausted naming its need and the limit.
  std::optional<Error> never_fits(const Sequence& sequence) const { return admission_.never_fits(sequence); }
  void plan(const StepInput& input, StepPlan& plan);

 private:
  PlanDraft draft_;
  StepAdmission admission_;
};

}  // namespace millrace::sched
