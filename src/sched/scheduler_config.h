#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/option_spec.h"

namespace millrace::sched {

// When requests may join the running batch. Continuous: at any step (ORCA, OSDI 22). Dynamic and static: only when the
// batch before has ended. The next batch starts when it is full, or batch_wait_ms after its first request arrived
// (dynamic) or its last (static), so that no request waits for ever.
enum class BatchingMode { kContinuous, kDynamic, kStatic };

// Limits of a step and of admission.
struct Config {
  std::int64_t max_batched_tokens = 512;  // tokens of a step, prefill chunks and decode tokens together; >= 1
  std::int64_t max_sequences = 64;  // sequences that run at once; >= 1, and limited by max_batched_tokens (slots())
  std::int64_t long_prefill_tokens = 0;  // limit of prompt tokens of one sequence in a step; 0 = none
  // Steps that are computed at once, each by another stage of a pipeline; >= 1. Then a step has no more than its share
  // of the rows that decode, so that there are rows for each.
  int stages = 1;
  double tpot_target_ms = 0.0;  // chunks of prompts shrink so that a step with decoding rows takes no longer; 0 = off
  BatchingMode batching = BatchingMode::kContinuous;
  double batch_wait_ms = 50.0;       // dynamic and static: how long a batch waits to become full
  std::int32_t max_bypassed = 64;    // times that a waiting sequence may be bypassed by later ones
  std::int32_t max_preemptions = 4;  // after so many a sequence is preempted only if there is no other
  // Values of the options that kinds of AdmissionResource declare, in range; null: each has its default.
  std::shared_ptr<const OptionValues> resource_options;

  // Sequences that may run at once: each takes at least one token of a step.
  std::int64_t slots() const noexcept { return std::min(max_sequences, max_batched_tokens); }
};

}  // namespace millrace::sched
