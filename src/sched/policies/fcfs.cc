#include "sched/schedule_policy.h"

namespace millrace::sched::policies {
namespace {

class Fcfs final : public SchedulePolicy {
 public:
  Rank rank(const Sequence&, const PolicyView&) const override { return {}; }
  StepOrder step_order() const noexcept override { return StepOrder::kAsRanked; }
  bool ranks_stay() const noexcept override { return true; }
};

}  // namespace

PolicyKind fcfs() {
  return {"fcfs", "prefill and decode alike in order of arrival",
          [](const PolicyOptions&) { return std::unique_ptr<SchedulePolicy>(std::make_unique<Fcfs>()); }};
}

}  // namespace millrace::sched::policies
