#include "sched/shared_step_cost.h"

namespace millrace::sched {

StepCost shared_step_cost(const StepCost& one, const SharedWork& work, const comm::LinkSpeed& link) noexcept {
  const double byte_ms = link.gb_per_s > 0.0 ? 1e-6 / link.gb_per_s : 0.0;
  StepCost cost = one;
  cost.fixed_ms += work.exchanges * link.latency_us * 1e-3;
  cost.weights_ms *= work.part;
  cost.token_ms *= work.part;
  cost.kv_token_ms *= work.part;
  cost.sample_ms = cost.sample_ms * work.part + work.logit_bytes * byte_ms;
  cost.row_ms += work.row_bytes * byte_ms;
  return cost;
}

}  // namespace millrace::sched
