#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/step_cost.h"

namespace millrace::sched {

// A further branch of a sequence's draft tree, and how much of it is worth verifying.
struct BranchOffer {
  double reached = 0.0;                // probability that the main branch is accepted as far as both are alike; [0, 1]
  std::span<const double> acceptance;  // of its own tokens: that token j is right if those before it are; [0, 1]
  std::int64_t shared = 0;             // tokens alike, which it computes once more
  std::int64_t position = 0;           // of the sequence's last token, which it computes once more too
  std::int64_t length = 0;             // the answer: own tokens computed, [0, acceptance.size()]; 0 = not worth it
};

// Chooses which branches a step computes besides `work`, of which `yield` tokens are expected, by the rule of
// choose_draft_lengths: a branch, and then each further token of it, must be expected to bring more than the step
// brings in the time that it takes, by kDraftMargin. A branch pays for what it shares before its first own token, so
// that those that bring most a token are looked at first. O(tokens + offers * log(offers)).
void choose_draft_branches(std::span<BranchOffer> offers, StepWork work, double yield, const StepCost& cost);

}  // namespace millrace::sched
