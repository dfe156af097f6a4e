#pragma once

#include <vector>

#include "decode/token_scorer.h"
#include "engine/launched_step.h"
#include "kv/paged_cache.h"
#include "model/batch_input.h"

namespace millrace::engine {

// From a plan whose rows have their pages to what the executor computes: `input` gets the rows, then the branches'.
// Pages for branches come from the cache; a branch that gets none is left out, and those after it. The scorer must
// outlive the step.
LaunchedStep build_batch(sched::StepPlan plan, kv::PagedCache& cache, decode::TokenScorer& scorer,
                         model::BatchInput& input);

}  // namespace millrace::engine
