#pragma once

#include <cstdint>
#include <optional>

namespace millrace::sched {

// What a step computes, as far as its time depends on it.
struct StepWork {
  std::int64_t tokens = 0;     // rows
  std::int64_t kv_tokens = 0;  // keys that its rows look back on, summed over rows... of decoding sequences once each
  std::int64_t samples = 0;    // rows of logits
};

// Milliseconds of a step as a straight line in each of its sizes, the greater of what memory and what arithmetic need:
//   max(weights_ms, tokens * token_ms) + kv_tokens * kv_token_ms + samples * sample_ms + fixed_ms.
struct StepCost {
  double fixed_ms = 0.1, weights_ms = 2.0, token_ms = 0.5, kv_token_ms = 2e-4, sample_ms = 0.02;

  double milliseconds(const StepWork& work) const noexcept;
  // Most tokens of prompt that a step may have besides `work` so that it takes at most `limit_ms`.
  std::int64_t tokens_within(double limit_ms, const StepWork& work) const noexcept;
};

// Learns a StepCost from the steps that ran, forgetting old ones. Deterministic; no allocation.
class StepCostEstimator {
 public:
  explicit StepCostEstimator(const StepCost& start = {}) : cost_(start) {}
  void observe(const StepWork& work, double milliseconds) noexcept;
  const StepCost& cost() const noexcept { return cost_; }
  std::int64_t observations() const noexcept { return observations_; }

 private:
  StepCost cost_;
  std::int64_t observations_ = 0;
};

}  // namespace millrace::sched
