#pragma once

#include <cstdint>

#include "engine/launched_step.h"
#include "engine/step_input.h"
#include "kv/paged_cache.h"

namespace millrace::engine {

// From a plan whose rows have their pages to what the executor computes: `input` gets the rows, then the branches'.
// Pages for branches come from the cache; a branch that gets none is left out, and those after it. `launch` is the
// step's number: tokens that earlier launches sample are fed to it, and what it samples itself is noted in the
// sequences.
LaunchedStep build_batch(sched::StepPlan plan, std::uint64_t launch, kv::PagedCache& cache, StepInput& input);

}  // namespace millrace::engine
