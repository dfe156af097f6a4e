#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/env.h"
#include "engine/request.h"
#include "kv/paged_cache.h"

namespace millrace::engine {

// One row of a step: the tokens at positions [first, first + tokens) of one answer.
struct RowReport {
  RequestId request = 0;
  int choice = 0;
  std::int64_t first = 0, tokens = 0;
  std::int64_t drafted = 0;                      // the last so many of the tokens are draft tokens
  std::int64_t branches = 0, branch_tokens = 0;  // further branches of drafts from `first` on; tokens of all of them
  bool decode = false;  // the last sampled token and its drafts; false: prompt, or computed again after a preemption
  bool begins = false;  // the answer's first row
  TimePoint arrival{}, start{};  // arrival of the request; start of this row, not before the answer's admission
};

// A token that a step sampled.
struct TokenReport {
  RequestId request = 0;
  int choice = 0;
  bool first = false;
  double since_ms = 0.0;  // since the answer's previous token; for the first token, since the request's arrival
};

// The least work of a step: bytes read and written, and arithmetic operations.
struct StepWorkload {
  double read_bytes = 0.0, write_bytes = 0.0, operations = 0.0;
};

// One committed step. Counts include what happened between the report before and this step. Queues and pages are as
// they are after the step.
struct StepReport {
  TimePoint start{}, end{};  // before planning; after the last token was checked for an end
  double schedule_ms = 0.0;  // planning, preemptions, admissions, reserving pages
  double prepare_ms = 0.0;   // gathering rows, launching
  double forward_ms = 0.0;   // waiting for the executor; the whole forward pass if it computes on this thread
  double commit_ms = 0.0;    // sampling, detokenizing, checking for ends
  double send_ms = 0.0;      // moving the outputs of the step before into their streams
  bool failed = false;

  std::int64_t sequences = 0, prefill_tokens = 0, decode_tokens = 0, samples = 0;
  std::int64_t kv_tokens_read = 0;      // positions whose keys and values the step's sequences read, each counted once
  std::int64_t kv_tokens_attended = 0;  // pairs of a token and a position that it attends to
  StepWorkload workload;                // zeros without a StepMeasure

  std::int64_t prompt_tokens = 0;                // of prompts that this step completed, cached tokens included
  std::int64_t admitted = 0, cached_tokens = 0;  // sequences admitted; their prompt tokens found in the prefix cache
  std::int64_t queried_tokens = 0;               // all prompt tokens of the sequences admitted
  std::int64_t preempted = 0, swapped = 0, numerical_errors = 0, rejected = 0;
  std::int64_t evicted_pages = 0;
  // Rows with draft tokens, draft tokens verified, draft tokens accepted, and accepted ones that only a branch had.
  std::int64_t drafts = 0, drafted_tokens = 0, accepted_tokens = 0;
  std::int64_t accepted_branch_tokens = 0;

  std::int64_t waiting = 0, running = 0, paused = 0;
  double oldest_wait_ms = 0.0;  // waiting time of the oldest request that is not admitted
  kv::CacheUse pages;

  // Valid during the observer's call.
  std::span<const RowReport> rows;
  std::span<const TokenReport> tokens;
};

using StepObserver = std::function<void(const StepReport&)>;
// Computes a step's workload. Of the report only the rows and the counts that follow from them are set.
using StepMeasure = std::function<StepWorkload(const StepReport&)>;

}  // namespace millrace::engine
