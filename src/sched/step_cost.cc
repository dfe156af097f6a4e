#include "sched/step_cost.h"

#include <algorithm>
#include <cmath>

namespace millrace::sched {

double WeightReads::share(std::int64_t tokens) const noexcept {
  return experts == 0.0 ? 1.0 : 1.0 - experts * std::pow(left_out, static_cast<double>(tokens));
}

double StepCost::milliseconds(const StepWork& work) const noexcept {
  return fixed_ms + std::max(weights_ms * reads.share(work.tokens), static_cast<double>(work.tokens) * token_ms) +
         static_cast<double>(work.tokens) * row_ms + static_cast<double>(work.kv_tokens) * kv_token_ms +
         static_cast<double>(work.samples) * sample_ms;
}

std::int64_t StepCost::tokens_within(double limit_ms, const StepWork& work, std::int64_t first,
                                     std::int64_t most) const noexcept {
  std::int64_t fits = 0, too_many = most + 1;
  while (too_many - fits > 1) {
    const std::int64_t n = fits + (too_many - fits) / 2;
    StepWork with = work;
    with.add(n, first);
    (milliseconds(with) <= limit_ms ? fits : too_many) = n;
  }
  return std::max<std::int64_t>(fits, 0);
}

}  // namespace millrace::sched
