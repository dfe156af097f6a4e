#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "sched/sequence.h"
#include "sched/step_cost.h"

namespace millrace::sched {

// One row of a step: the next n_tokens >= 1 of a sequence. A prefill chunk, a decode token and drafted tokens to verify
// differ only in n_tokens. The questions have the same answer from the plan until the sampled token is appended.
struct StepRow {
  Sequence* sequence = nullptr;
  std::int64_t n_tokens = 0;
  std::int64_t first = 0;    // position of the first of them
  std::size_t branches = 0;  // of the sequence's, the first so many: each takes the last token's row once more
  bool samples() const noexcept { return first + n_tokens >= sequence->length(); }  // its last token gets a successor
  // How many of the row's tokens are draft tokens, each of which gets logits.
  std::int64_t drafted() const noexcept { return std::max<std::int64_t>(0, first + n_tokens - sequence->length()); }
  std::int64_t branch_tokens() const noexcept;  // rows that the branches take
  void add_to(StepWork& work) const noexcept;
};

struct Admission {
  Sequence* sequence = nullptr;
  kv::PrefixMatch match;  // nothing for one that has pages already or comes back from swap space
};

struct Rejection {
  Sequence* sequence = nullptr;
  Error error;
};

// What one step will do, in the order in which it must be done, also where it has no rows. Sequences are the engine's;
// the plan only points. One refused is in no other list; the engine ends it and removes it.
struct StepPlan {
  std::vector<Sequence*> preempted;  // or waiting, with pages that a session leased it
  std::vector<Admission> admitted;
  std::vector<Rejection> rejected;
  std::vector<StepRow> rows;
  bool empty() const noexcept { return rows.empty(); }
  void clear() noexcept;
};

// What StepCost goes by; before the sampled tokens are appended.
StepWork work_of(const StepPlan& plan) noexcept;

}  // namespace millrace::sched
