#pragma once

#include <cstdint>

namespace millrace::engine {

// Totals since the engine was created. They never decrease.
struct EngineCounters {
  std::int64_t steps = 0, requests = 0, answers = 0;
  std::int64_t prompt_tokens = 0, output_tokens = 0, computed_tokens = 0;
  // Prompt tokens of admitted sequences: all, and those whose keys and values the prefix cache had.
  std::int64_t queried_tokens = 0, cached_tokens = 0;
  std::int64_t preemptions = 0, swaps = 0, rejections = 0, numerical_errors = 0, failed_steps = 0;
  // Speculation: rows with draft tokens, draft tokens verified, and draft tokens accepted.
  std::int64_t drafts = 0, drafted_tokens = 0, accepted_tokens = 0;
  std::int64_t accepted_branch_tokens = 0;  // accepted tokens that only a further branch had
  std::int64_t exports = 0, imports = 0;    // requests that moved to, and came from, another engine
};

}  // namespace millrace::engine
