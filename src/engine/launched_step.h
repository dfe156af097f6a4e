#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/prompt_reading.h"
#include "kv/block_table.h"
#include "sched/step_cost.h"
#include "sched/step_plan.h"

namespace millrace::engine {

// A branch of a sequence's drafts while a step computes it: over the sequence's pages, and from the last token's on
// over its own.
struct BranchRows {
  kv::BlockTable blocks;
  std::int64_t first_logits = 0;  // row of logits of the last token
};

// A step that the executor has, until it is committed.
struct LaunchedStep {
  sched::StepPlan plan;
  std::vector<BranchRows> branches;         // of the rows, in their order
  std::unique_ptr<PromptRows> prompt_rows;  // null where no prompt is read
  sched::StepWork work;
  TimePoint start{}, scheduled{}, prepared{};
  double drafting_ms = 0.0;  // of it, before anything was computed
  bool after_pause = false;  // nothing was being computed before it
};

}  // namespace millrace::engine
