#include "sched/schedule_policy.h"

namespace millrace::sched::policies {
namespace {

// Stall-free: no answer waits for a prompt (Sarathi-Serve, arXiv:2403.02310).
class DecodeFirst final : public SchedulePolicy {
 public:
  Rank rank(const Sequence&, const PolicyView&) const override { return {}; }
  bool ranks_stay() const noexcept override { return true; }
};

}  // namespace

PolicyKind decode_first() {
  return {"decode-first", "decode first, then prefill in order of arrival (the default)",
          [](const PolicyOptions&) { return std::unique_ptr<SchedulePolicy>(std::make_unique<DecodeFirst>()); }};
}

}  // namespace millrace::sched::policies
