#pragma once

#include "sched/plan_draft.h"

namespace millrace::sched {

// Steps in a row that may leave a running sequence out; then it gets a token before all others.
inline constexpr std::int32_t kMaxStarvedSteps = 16;

// Stage 3 of a step: shares its max_batched_tokens among the members that take part, in the policy's order, within the
// pages that are left and, where there is a TPOT target, within its time. What is left goes to draft tokens, then to
// whole branches of drafts. Writes plan->rows. O(members log members) after an admission, else O(members).
void share_budget(PlanDraft& draft);

}  // namespace millrace::sched
