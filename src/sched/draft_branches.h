#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/step_cost.h"

namespace millrace::sched {

// A further branch of a sequence's draft tree, and the number of its tokens that are worth verifying.
struct BranchOffer {
  double reached = 0.0;  // probability that the main branch is accepted up to where this branch leaves it; [0, 1]
  std::span<const double> acceptance;  // by own token: probability that it is right if those before it are; [0, 1]
  std::int64_t shared = 0;             // tokens that it has in common with the main branch, which it computes again
  std::int64_t position = 0;           // of the sequence's last token, which the branch computes again too
  std::int64_t length = 0;  // the result: own tokens to compute, in [0, acceptance.size()]; 0 = not worth computing
};

// Chooses the branches that a step computes besides `work`, and sets their `length`. `yield` is the expected number of
// tokens that `work` brings. A branch, and then each further token of it, is added if its expected tokens exceed, by
// the factor kDraftMargin, what the step yields in the time that it takes; this is the rule of choose_draft_lengths().
// The cost of a branch includes its shared tokens, so branches with the highest yield per token are examined first.
// O(tokens + offers * log(offers)).
void choose_draft_branches(std::span<BranchOffer> offers, StepWork work, double yield, const StepCost& cost);

}  // namespace millrace::sched
