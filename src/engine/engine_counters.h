#pragma once

#include <cstdint>

namespace millrace::engine {

// Counts since the start of an engine.
struct EngineCounters {
  std::int64_t steps = 0, requests = 0, answers = 0;
  std::int64_t prompt_tokens = 0, output_tokens = 0, computed_tokens = 0;
  std::int64_t queried_tokens = 0, cached_tokens = 0;  // of admitted prompts: all tokens, and those found in pages
  std::int64_t preemptions = 0, swaps = 0, rejections = 0, numerical_errors = 0, failed_steps = 0;
  std::int64_t drafts = 0, drafted_tokens = 0,
               accepted_tokens = 0;         // rows with draft tokens, draft tokens verified and accepted
  std::int64_t accepted_branch_tokens = 0;  // accepted tokens that only a further branch had
  std::int64_t weight_rounds = 0;           // over all weights, comparing checksums
  std::int64_t exports = 0, imports = 0;    // requests that moved to and from other engines
};

}  // namespace millrace::engine
