#include "sched/schedule_policy.h"

namespace millrace::sched::policies {
namespace {

class Priority final : public SchedulePolicy {
 public:
  Rank rank(const Sequence& sequence, const PolicyView&) const override {
    return {.group = static_cast<double>(sequence.priority)};
  }
  bool ranks_stay() const noexcept override { return true; }
  bool preempts() const noexcept override { return true; }
};

}  // namespace

PolicyKind priority() {
  return {"priority", "the request's priority, lower values first, preempting less urgent requests",
          [](const PolicyOptions&) { return std::unique_ptr<SchedulePolicy>(std::make_unique<Priority>()); }};
}

}  // namespace millrace::sched::policies
