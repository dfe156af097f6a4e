#include "sched/step_planner.h"

#include <utility>

#include "sched/page_shortage.h"
#include "sched/token_budget.h"

namespace millrace::sched {
namespace {

void reject_late(PlanDraft& draft) {
  if (!draft.policy.may_reject()) return;
  for (Sequence* sequence : draft.input->waiting.by_arrival()) {
    if (auto error = draft.policy.reject(*sequence, draft.input->view)) {
      draft.plan->rejected.push_back({sequence, std::move(*error)});
    }
  }
}

}  // namespace

StepPlanner::StepPlanner(const Config& config, const SchedulePolicy& policy, const kv::PagedCache& cache,
                         std::span<const AdmissionResourceKind> resources)
    : draft_(config, policy, cache), admission_(config, cache, resources) {}

void StepPlanner::plan(const StepInput& input, StepPlan& plan) {
  draft_.start(input, plan);
  find_pages(draft_);
  reject_late(draft_);
  admission_.admit(draft_);
  share_budget(draft_);
}

}  // namespace millrace::sched
