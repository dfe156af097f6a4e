#pragma once

#include <cstdint>

#include "base/env.h"
#include "model/expert_use.h"

namespace millrace::engine {

// The time of an answer from arrival to end, in milliseconds, divided into parts that add up to it. The time that a
// step would have taken for this answer alone is estimated by the cost model (sched/step_cost.h), scaled to the
// measured time of the step.
struct TimeSpent {
  double queue_ms = 0.0;           // waiting for admission
  double adapters_ms = 0.0;        // of that wait, until its adapters were in memory; not in queue_ms
  double prefill_ms = 0.0;         // computing the prompt, as if alone
  double prefill_shared_ms = 0.0;  // added to those steps by tokens of other answers
  double stalled_ms = 0.0;         // admitted, but steps did not include it
  double decode_ms = 0.0;          // decoding, as if alone
  double decode_batch_ms = 0.0;    // added to those steps by decode tokens of other answers
  double decode_prefill_ms = 0.0;  // added to those steps by prompts of other answers
  double preempted_ms = 0.0;       // from preemption to the next admission
  double recompute_ms = 0.0;       // computing tokens again after a preemption
  double paused_ms = 0.0;          // paused, since its client did not read
  TimePoint finished{};            // end of the answer
  std::int64_t steps = 0, recomputed_tokens = 0;
  // Workload of its steps, other answers' rows included, by StepReporter::measure(); 0 = not measured.
  double decode_read_bytes = 0.0;   // of the steps of decode_steps_ms()
  double prefill_operations = 0.0;  // of the steps of prefill_steps_ms()
  // What the rows of the steps of decode_steps_ms() chose, other answers' rows included.
  model::ExpertUse decode_experts;

  double decode_steps_ms() const noexcept { return decode_ms + decode_batch_ms + decode_prefill_ms; }
  double prefill_steps_ms() const noexcept { return prefill_ms + prefill_shared_ms + recompute_ms; }
  double total_ms() const noexcept {
    return queue_ms + adapters_ms + prefill_ms + prefill_shared_ms + stalled_ms + decode_ms + decode_batch_ms +
           decode_prefill_ms + preempted_ms + recompute_ms + paused_ms;
  }
};

}  // namespace millrace::engine
