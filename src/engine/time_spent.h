#pragma once

#include <cstdint>

#include "base/env.h"

namespace millrace::engine {

// Where the time of an answer went, in milliseconds. The parts add up to its time from arrival to its end: each moment
// belongs to one of them. What a step would have taken for this answer alone is the step's cost model's word
// (sched/step_cost.h), as a share of the time it took.
struct TimeSpent {
  double queue_ms = 0.0;           // waiting for a place
  double prefill_ms = 0.0;         // computing the prompt, as long as that takes alone
  double prefill_shared_ms = 0.0;  // what others' tokens added to those steps
  double stalled_ms = 0.0;         // has a place, but the steps were others'
  double decode_ms = 0.0;          // decoding, as long as that takes alone
  double decode_batch_ms = 0.0;    // what others' decode tokens added
  double decode_prefill_ms = 0.0;  // what others' prompts added
  double preempted_ms = 0.0;       // gave up its place, until it came back
  double recompute_ms = 0.0;       // steps that computed again what a preemption lost
  double paused_ms = 0.0;          // its reader did not read
  TimePoint finished{};
  std::int64_t steps = 0, recomputed_tokens = 0;
  // What its steps had to do, all rows of them, as Engine::measure() counts it; 0: not counted.
  double decode_read_bytes = 0.0;   // in decode_steps_ms()
  double prefill_operations = 0.0;  // in prefill_steps_ms()

  double decode_steps_ms() const noexcept { return decode_ms + decode_batch_ms + decode_prefill_ms; }
  double prefill_steps_ms() const noexcept { return prefill_ms + prefill_shared_ms + recompute_ms; }
  double total_ms() const noexcept {
    return queue_ms + prefill_ms + prefill_shared_ms + stalled_ms + decode_ms + decode_batch_ms + decode_prefill_ms +
           preempted_ms + recompute_ms + paused_ms;
  }
};

}  // namespace millrace::engine
