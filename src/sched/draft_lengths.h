#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/step_cost.h"

namespace millrace::sched {

// Tokens drafted for one sequence, and the number of them that are worth computing.
struct DraftOffer {
  std::span<const double> acceptance;  // by token: probability that it is right if those before it are; [0, 1]
  std::int64_t position = 0;           // of the first drafted token
  std::int64_t length = 0;             // the result: the first tokens to compute, in [0, acceptance.size()]
};

// The factor by which a draft token's expected yield must exceed the yield of the step without it. It is above 1
// because the models of time and acceptance are not exact.
inline constexpr double kDraftMargin = 1.1;

// Chooses the draft lengths with which a step yields the most expected tokens per millisecond, and sets `length`.
// `work` is what the step computes anyway; each of its tokens yields one. Draft tokens are added, likeliest first,
// while a token's expected yield is more than the step yields in the time that the token takes. Optimal for a StepCost,
// which is convex. `round_ms` is the time before the step that each further token of the longest draft costs (a draft
// model's pass over all sequences). O(tokens * log(offers)).
void choose_draft_lengths(std::span<DraftOffer> offers, const StepWork& work, const StepCost& cost,
                          double round_ms = 0.0);

}  // namespace millrace::sched
