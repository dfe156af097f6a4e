#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/option_spec.h"

namespace millrace::sched {

// When requests may join: at any step (ORCA, OSDI 22); or only when the batch before has ended. Then the next one
// starts when it is full, or, so that no request waits for ever, batch_wait_ms after its first request came (dynamic)
// or its last (static).
enum class BatchingMode { kContinuous, kDynamic, kStatic };

// Limits of a step.
struct Config {
  std::int64_t max_batched_tokens = 512;  // tokens of a step, prefill chunks and decode tokens together; >= 1
  std::int64_t max_sequences = 64;        // running at once; >= 1, and no more than max_batched_tokens take effect
  std::int64_t long_prefill_tokens = 0;   // most tokens of one prompt in a step; 0 = no limit but the budget
  double tpot_target_ms = 0.0;  // the budget shrinks so that a step with decoding rows takes no longer; 0 = off
  BatchingMode batching = BatchingMode::kContinuous;
  double batch_wait_ms = 50.0;       // dynamic and static: how long a batch waits to become full
  std::int32_t max_bypassed = 64;    // then no sequence may pass a waiting one any more
  std::int32_t max_preemptions = 4;  // then a sequence is not preempted again while there is another
  // Values of the options that kinds of AdmissionResource declare, in range; null: each has its default.
  std::shared_ptr<const OptionValues> resource_options;

  // Sequences that may run at once: each takes at least one token of a step.
  std::int64_t slots() const noexcept { return std::min(max_sequences, max_batched_tokens); }
};

}  // namespace millrace::sched
