#include "sched/schedule_policy.h"

namespace millrace::sched::policies {
namespace {

// Those whose prompts are published go first, while the pages are still there (RadixAttention's cache-aware order,
// arXiv:2312.07104). The scheduler's bound on bypassing keeps the others from starving.
class LongestPrefixMatch final : public SchedulePolicy {
 public:
  Rank rank(const Sequence& sequence, const PolicyView&) const override {
    return {.key = -static_cast<double>(sequence.cached_hint)};
  }
  bool uses_cached_hint() const noexcept override { return true; }
};

}  // namespace

PolicyKind longest_prefix_match() {
  return {"longest-prefix-match", "requests with most of their prompt in the prefix cache first",
          [](const PolicyOptions&) { return std::unique_ptr<SchedulePolicy>(std::make_unique<LongestPrefixMatch>()); }};
}

}  // namespace millrace::sched::policies
