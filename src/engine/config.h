#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sched/schedule_policy.h"
#include "sched/scheduler_config.h"
#include "sched/step_cost.h"

namespace millrace::engine {

// What becomes of the pages of a preempted sequence: given up and computed again, moved to host memory, or whichever
// takes less time as measured so far.
enum class Preemption { kAuto, kRecompute, kSwap };

struct Config {
  sched::Config scheduling;
  std::string policy = "decode-first";
  sched::PolicyOptions policy_options = {};
  bool prefix_caching = true;  // requests share the pages of what they begin with alike
  std::size_t swap_bytes = 0;  // host memory for preempted sequences
  Preemption preemption = Preemption::kAuto;
  double session_share = 1.0;       // of the pages, the most that idle sessions hold
  std::int64_t max_waiting = 1024;  // requests; more are rejected with kResourceExhausted
  bool jump_forward = true;  // what a grammar leaves no choice about is drafted, if nothing else is: see Speculation
  // Logits of a step from which on its rows are sampled from on all threads of the executor. Fewer take one thread less
  // than a millisecond, and stay in its caches.
  std::int64_t side_by_side_logits = 1 << 21;
  sched::StepCost step_cost = {};  // of the first steps, until enough were measured
  // What keys and values are computed by: weights, precision, kernels, form of the pages. Sequences move between
  // engines of equal keys alone.
  std::uint64_t model_key = 0;
  std::uint64_t first_id = 1;  // of requests and sessions: engines between which they move have ids apart
};

}  // namespace millrace::engine
