#pragma once

#include "sched/plan_draft.h"

namespace millrace::sched {

// Stage 1 of a step: gives every running sequence the pages of one token. Where pages are short, sequences are
// preempted: first those whose readers are slow, then the last in the policy's order, then those preempted
// max_preemptions times already; after them, waiting sequences lose the pages that sessions leased to them. Where none
// of these may be preempted now, the last members do not take part in this step. O(members) for each one preempted.
void find_pages(PlanDraft& draft);

// Preempts the waiting sequence that arrived last among those whose leased pages would become available; else, of
// sequences that lease the same pages, as many as it takes to free one. Returns whether pages became available.
bool take_leased_pages(PlanDraft& draft);

}  // namespace millrace::sched
