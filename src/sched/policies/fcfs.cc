#include "sched/schedule_policy.h"

namespace millrace::sched::policies {
namespace {

class Fcfs final : public SchedulePolicy {
 public:
  Rank rank(const Sequence&, const PolicyView&) const override { return {}; }
};

}  // namespace

PolicyKind fcfs() {
  return {"fcfs", "in order of arrival", [] { return std::unique_ptr<SchedulePolicy>(std::make_unique<Fcfs>()); }};
}

}  // namespace millrace::sched::policies
