#pragma once

#include <cstdint>

namespace millrace::sched {

// What a step computes, as far as its time depends on it.
struct StepWork {
  std::int64_t tokens = 0;
  std::int64_t kv_tokens = 0;  // keys that its tokens look back on, themselves included, summed over tokens
  std::int64_t samples = 0;    // rows of logits

  // n tokens of one sequence, from position `first` on.
  void add(std::int64_t n, std::int64_t first) noexcept {
    tokens += n;
    kv_tokens += n * first + n * (n + 1) / 2;
  }
};

// Milliseconds of a step as a straight line in each of its sizes, the greater of what memory and what arithmetic need:
//   max(weights_ms, tokens * token_ms) + kv_tokens * kv_token_ms + samples * sample_ms + fixed_ms.
struct StepCost {
  double fixed_ms = 0.1, weights_ms = 2.0, token_ms = 0.5, kv_token_ms = 2e-4, sample_ms = 0.02;

  double milliseconds(const StepWork& work) const noexcept;
  // Most tokens, up to `most`, of a prompt from position `first` on that a step may have besides `work` so that it
  // takes at most `limit_ms`.
  std::int64_t tokens_within(double limit_ms, const StepWork& work, std::int64_t first,
                             std::int64_t most) const noexcept;
};

}  // namespace millrace::sched
