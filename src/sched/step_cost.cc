#include "sched/step_cost.h"

#include <algorithm>

namespace millrace::sched {

double StepCost::milliseconds(const StepWork& work) const noexcept {
  return fixed_ms + std::max(weights_ms, static_cast<double>(work.tokens) * token_ms) +
         static_cast<double>(work.kv_tokens) * kv_token_ms + static_cast<double>(work.samples) * sample_ms;
}

std::int64_t StepCost::tokens_within(double limit_ms, const StepWork& work) const noexcept {
  const double left = limit_ms - fixed_ms - static_cast<double>(work.kv_tokens) * kv_token_ms -
                      static_cast<double>(work.samples) * sample_ms;
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(left / token_ms) - work.tokens);
}

void StepCostEstimator::observe(const StepWork&, double) noexcept { ++observations_; }

}  // namespace millrace::sched
