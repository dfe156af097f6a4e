#pragma once

#include <cstdint>

namespace millrace::sched {

// Amount of work of a step, in the sizes that its time depends on.
struct StepWork {
  std::int64_t tokens = 0;
  std::int64_t kv_tokens = 0;  // keys that attention reads: for each token its own and all before it
  std::int64_t samples = 0;    // rows of logits

  // Adds n tokens of one sequence, from position `first` on.
  void add(std::int64_t n, std::int64_t first) noexcept {
    tokens += n;
    kv_tokens += n * first + n * (n + 1) / 2;
  }
};

// Which part of the weights a step reads by its number of tokens: of experts only those that its tokens choose, here at
// random.
struct WeightReads {
  double experts = 0.0;   // of all weights the part that experts are, [0, 1]
  double left_out = 0.0;  // of the experts the part that one token does not choose, [0, 1]: 1 - k / E

  double share(std::int64_t tokens) const noexcept;
};

// Predicted milliseconds of a step, linear in each size of its work. Memory and arithmetic overlap, so the greater of
// the two counts:
//   max(weights_ms * reads.share(tokens), tokens * token_ms) + tokens * row_ms + kv_tokens * kv_token_ms +
//   samples * sample_ms + fixed_ms.
struct StepCost {
  double fixed_ms = 0.1, weights_ms = 2.0, token_ms = 0.5, kv_token_ms = 2e-4, sample_ms = 0.02;
  double row_ms = 0.0;     // what ranks exchange of a token (shared_step_cost.h); never fitted
  WeightReads reads = {};  // of the model; never fitted

  double milliseconds(const StepWork& work) const noexcept;
  // The largest number of prompt tokens from position `first` on, at most `most`, that a step may compute besides
  // `work` within `limit_ms` milliseconds.
  std::int64_t tokens_within(double limit_ms, const StepWork& work, std::int64_t first,
                             std::int64_t most) const noexcept;
};

}  // namespace millrace::sched
