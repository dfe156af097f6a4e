#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/env.h"
#include "engine/request.h"
#include "kv/paged_cache.h"

namespace millrace::engine {

// What a step computed of one answer: the tokens at positions [first, first + tokens).
struct RowReport {
  RequestId request = 0;
  int choice = 0;
  std::int64_t first = 0, tokens = 0;
  std::int64_t drafted = 0;                      // of the tokens, the last so many: drafted
  std::int64_t branches = 0, branch_tokens = 0;  // further branches, from `first` on, and all their tokens
  bool decode = false;  // the one token sampled last, and what is drafted to follow; else of a prompt, or computed
                        // again after a preemption
  bool begins = false;  // the answer's first row
  TimePoint arrival{}, start{};  // of the answer; of this row: no earlier than the answer's admission
};

// A token that a step drew.
struct TokenReport {
  RequestId request = 0;
  int choice = 0;
  bool first = false;
  double since_ms = 0.0;  // since the answer's token before, or with the first since the request's arrival
};

// What a step must do at least: bytes to read and write, operations.
struct StepWorkload {
  double read_bytes = 0.0, write_bytes = 0.0, operations = 0.0;
};

// One committed step. Counts are of this step, or with what happened since the report before it; states are as the step
// left them.
struct StepReport {
  TimePoint start{}, end{};  // from before the plan until after the last stop rule
  double schedule_ms = 0.0;  // plan, preemptions, admissions, pages
  double prepare_ms = 0.0;   // gather, launch
  double forward_ms = 0.0;   // waiting for the executor: the whole computation where it computes on this thread
  double commit_ms = 0.0;    // sample, detokenize, stop rules
  double send_ms = 0.0;      // outputs of the step before into their streams
  bool failed = false;

  std::int64_t sequences = 0, prefill_tokens = 0, decode_tokens = 0, samples = 0;
  std::int64_t kv_tokens_read = 0;      // positions whose keys and values a sequence of the step reads, each once
  std::int64_t kv_tokens_attended = 0;  // the same summed over tokens: what arithmetic depends on
  StepWorkload workload;                // zero where it is not measured

  std::int64_t prompt_tokens = 0;                // of prompts whose last token was computed, cached ones included
  std::int64_t admitted = 0, cached_tokens = 0;  // sequences; tokens of their prompts found in pages
  std::int64_t queried_tokens = 0;               // prompt tokens of those
  std::int64_t preempted = 0, swapped = 0, numerical_errors = 0, rejected = 0;
  std::int64_t evicted_pages = 0;
  std::int64_t drafts = 0, drafted_tokens = 0,
               accepted_tokens = 0;         // rows with draft tokens, those, and the accepted ones
  std::int64_t accepted_branch_tokens = 0;  // of these, those that only a branch had

  std::int64_t waiting = 0, running = 0, paused = 0;
  double oldest_wait_ms = 0.0;  // of those waiting for a place
  kv::CacheUse pages;

  std::span<const RowReport> rows;  // valid during the call
  std::span<const TokenReport> tokens;
};

using StepObserver = std::function<void(const StepReport&)>;
// What a step must do, from its rows and what it counts of them; the rest of the report is not there yet.
using StepMeasure = std::function<StepWorkload(const StepReport&)>;

}  // namespace millrace::engine
