#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "sched/sequence.h"
#include "sched/step_cost.h"

namespace millrace::sched {

// One row of a step: the next n_tokens >= 1 tokens of a sequence. A prefill chunk, a decode token and draft tokens to
// verify differ only in n_tokens.
struct StepRow {
  Sequence* sequence = nullptr;
  std::int64_t n_tokens = 0;
  std::int64_t first = 0;  // position of the row's first token
  // The number of the sequence's branches that are computed, each with the last token again.
  std::size_t branches = 0;
  std::int64_t length = 0;  // of the sequence when the step was planned, drafts not included: its planned_length()
  // Where the row samples, the executor does so itself, and steps launched after this one may go on from the token. Set
  // by the engine, before Scheduler::launched().
  bool feeds = false;
  // Whether the token after its last one is sampled.
  bool samples() const noexcept { return first + n_tokens >= length; }
  // The number of draft tokens in the row. Each gets logits.
  std::int64_t drafted() const noexcept { return std::max<std::int64_t>(0, first + n_tokens - length); }
  std::int64_t branch_tokens() const noexcept;  // tokens that the branches compute
  void add_to(StepWork& work) const noexcept;
};

struct Admission {
  Sequence* sequence = nullptr;
  kv::PrefixMatch match;  // empty for a sequence that has pages already or comes back from swap space
};

struct Rejection {
  Sequence* sequence = nullptr;
  Error error;
};

// What one step will do, in the order in which it must be done; the lists before `rows` also apply where there are no
// rows. The pointers are to the engine's sequences. A rejected sequence is in no other list; the engine must end and
// remove it.
struct StepPlan {
  // Running sequences, or waiting ones that lose the pages that a session leased to them.
  std::vector<Sequence*> preempted;
  std::vector<Admission> admitted;
  std::vector<Rejection> rejected;
  std::vector<StepRow> rows;
  bool empty() const noexcept { return rows.empty(); }
  void clear() noexcept;
};

// The plan's work as StepCost counts it.
StepWork work_of(const StepPlan& plan) noexcept;

}  // namespace millrace::sched
