#pragma once

#include <cstdint>

#include "base/env.h"

namespace millrace::engine {

// Where the time of an answer went, in milliseconds. Each moment from its arrival to its end belongs to exactly one
// part, so the parts add up. The share of a step that the answer would have taken alone follows from the cost model
// (sched/step_cost.h), scaled to the step's measured time.
struct TimeSpent {
  double queue_ms = 0.0;           // waiting for a place
  double prefill_ms = 0.0;         // computing the prompt: the time that it takes alone
  double prefill_shared_ms = 0.0;  // time that other answers' tokens added to the steps of its prompt
  double stalled_ms = 0.0;         // admitted, but without a row in the step that ran
  double decode_ms = 0.0;          // decoding: the time that it takes alone
  double decode_batch_ms = 0.0;    // time that other answers' decode tokens added to its decode steps
  double decode_prefill_ms = 0.0;  // time that other requests' prompts added to its decode steps
  double preempted_ms = 0.0;       // from each preemption to the next admission
  double recompute_ms = 0.0;       // computing again what a preemption lost
  double paused_ms = 0.0;          // paused because its reader was slow
  TimePoint finished{};
  std::int64_t steps = 0, recomputed_tokens = 0;
  // Work of the steps that it took part in, with all their rows (StepReporter::measure()); 0 = not measured.
  double decode_read_bytes = 0.0;   // bytes read within decode_steps_ms()
  double prefill_operations = 0.0;  // operations within prefill_steps_ms()

  double decode_steps_ms() const noexcept { return decode_ms + decode_batch_ms + decode_prefill_ms; }
  double prefill_steps_ms() const noexcept { return prefill_ms + prefill_shared_ms + recompute_ms; }
  double total_ms() const noexcept {
    return queue_ms + prefill_ms + prefill_shared_ms + stalled_ms + decode_ms + decode_batch_ms + decode_prefill_ms +
           preempted_ms + recompute_ms + paused_ms;
  }
};

}  // namespace millrace::engine
