#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/env.h"
#include "engine/request.h"
#include "kv/paged_cache.h"
#include "model/expert_use.h"
#include "model/ranks/rank_time.h"

namespace millrace::engine {

// A row of a step: the tokens of one answer at positions [first, first + tokens).
struct RowReport {
  RequestId request = 0;
  int choice = 0;
  std::int64_t first = 0, tokens = 0;
  std::int64_t drafted = 0;                      // number of last tokens that are draft tokens
  std::int64_t branches = 0, branch_tokens = 0;  // further branches of the draft tree, and all their tokens
  // Whether the row is the token sampled last and draft tokens; else it is part of a prompt, or computed again after a
  // preemption.
  bool decode = false;
  bool begins = false;           // the first row of the answer
  TimePoint arrival{}, start{};  // of the answer; of the row, but not before the answer's admission
};

// A token sampled in a step.
struct TokenReport {
  RequestId request = 0;
  int choice = 0;
  bool first = false;
  double since_ms = 0.0;  // since the previous token of the answer; for the first since the request's arrival
};

// The least work of a step: bytes to read and write, and arithmetic operations.
struct StepWorkload {
  double read_bytes = 0.0, write_bytes = 0.0, operations = 0.0;
};

// Report of one committed step. Counts are of this step, or of the time since the previous report. Queues and pages are
// in their state after the step.
struct StepReport {
  TimePoint start{}, end{};  // before planning; after the last stop rule
  double schedule_ms = 0.0;  // planning, preemptions, admissions, pages
  double prepare_ms = 0.0;   // gathering rows, launching
  double forward_ms = 0.0;   // waiting for the executor: the whole computation if it computes on this thread
  double commit_ms = 0.0;    // sampling, detokenizing, stop rules
  double send_ms = 0.0;      // passing outputs of the previous step to their streams
  bool failed = false;

  std::int64_t sequences = 0, prefill_tokens = 0, decode_tokens = 0, samples = 0;
  std::int64_t kv_tokens_read = 0;      // positions whose keys and values are read, once for each sequence and branch
  std::int64_t kv_tokens_attended = 0;  // the same, once for each token that attends them
  model::ExpertUse experts;             // what the rows chose
  StepWorkload workload;                // 0 if it is not measured

  std::int64_t prompt_tokens = 0;                // of prompts that are now complete, cached tokens included
  std::int64_t admitted = 0, cached_tokens = 0;  // sequences; their prompt tokens found in pages
  std::int64_t queried_tokens = 0;               // all prompt tokens of these sequences
  std::int64_t preempted = 0, swapped = 0, numerical_errors = 0, rejected = 0;
  std::int64_t evicted_pages = 0;
  std::int64_t weight_rounds = 0;  // over the checksums of all weights
  std::int64_t drafts = 0, drafted_tokens = 0,
               accepted_tokens = 0;         // rows with draft tokens, those, and the accepted ones
  std::int64_t accepted_branch_tokens = 0;  // accepted tokens that only a further branch had

  std::int64_t waiting = 0, running = 0, paused = 0;
  double oldest_wait_ms = 0.0;  // age of the oldest waiting sequence
  kv::CacheUse pages;

  std::span<const model::RankTime> ranks;  // empty: one rank alone. All three valid during the call
  std::span<const RowReport> rows;
  std::span<const TokenReport> tokens;
};

using StepObserver = std::function<void(const StepReport&)>;
// Computes the workload of a step. Only the counts of rows, `experts` and `rows` are set in the report.
using StepMeasure = std::function<StepWorkload(const StepReport&)>;

}  // namespace millrace::engine
