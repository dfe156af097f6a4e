#include "sched/schedule_policy.h"

namespace millrace::sched::policies {
namespace {

// The order of ORCA's and early vLLM's steps: new requests are brought to their first token before answers go on.
class PrefillFirst final : public SchedulePolicy {
 public:
  Rank rank(const Sequence&, const PolicyView&) const override { return {}; }
  StepOrder step_order() const noexcept override { return StepOrder::kPromptsFirst; }
  bool ranks_stay() const noexcept override { return true; }
};

}  // namespace

PolicyKind prefill_first() {
  return {"prefill-first", "prefill first in order of arrival, then decode",
          [](const PolicyOptions&) { return std::unique_ptr<SchedulePolicy>(std::make_unique<PrefillFirst>()); }};
}

}  // namespace millrace::sched::policies
