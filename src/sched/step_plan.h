#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "sched/sequence.h"

namespace millrace::sched {

// One row of a step: the next n_tokens >= 1 of a sequence. A prefill chunk and a decode token differ only in n_tokens.
struct StepRow {
  Sequence* sequence = nullptr;
  std::int64_t n_tokens = 0;
  bool samples() const noexcept { return n_tokens == sequence->remaining(); }  // its last token gets a successor
};

struct Admission {
  Sequence* sequence = nullptr;
  kv::PrefixMatch match;  // nothing for one that comes back from swap space
};

struct Refusal {
  Sequence* sequence = nullptr;
  Error error;
};

// What one step will do, in the order in which it must be done. Sequences are the engine's; the plan only points.
struct StepPlan {
  std::vector<Sequence*> preempted;
  std::vector<Admission> admitted;
  std::vector<Refusal> refused;
  std::vector<StepRow> rows;
  bool empty() const noexcept { return rows.empty(); }
};

}  // namespace millrace::sched
