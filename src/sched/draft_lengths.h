#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/step_cost.h"

namespace millrace::sched {

// Tokens drafted for one sequence, and how many of them are worth computing.
struct DraftOffer {
  std::span<const double> acceptance;  // that token j is right if those before it are; [0, 1]
  std::int64_t position = 0;           // of the first drafted token
  std::int64_t length = 0;             // the answer: the first so many, [0, acceptance.size()]
};

// What a drafted token must gain on doing without: models of time and acceptance are not exact.
inline constexpr double kDraftMargin = 1.1;

// Chooses the lengths with which a step yields the most expected tokens a millisecond. `work` is what the step computes
// anyway, each of its tokens worth one; drafted tokens are added, likeliest first, as long as what one is expected to
// yield is more than the step yields in the time that it takes. Optimal for a StepCost, which is convex: under the
// weights' time they are almost free, in a full batch none is. `round_ms` is what each further token of the longest
// draft costs before the step (a draft model's pass over all sequences). O(tokens * log(offers)).
void choose_draft_lengths(std::span<DraftOffer> offers, const StepWork& work, const StepCost& cost,
                          double round_ms = 0.0);

}  // namespace millrace::sched
