#include <algorithm>
#include <cmath>

#include "sched/schedule_policy.h"

namespace millrace::sched::policies {
namespace {

constexpr OptionSpec kPreemptShorter = {
    .name = "preempt_shorter",
    .kind = OptionSpec::Kind::kSwitch,
    .neutral = 1.0,
    .help =
        "Let a request with much less remaining work preempt a running one; with --scheduling-policy "
        "shortest-remaining"};

// Shortest remaining processing time (Schrage, 1968) on predicted lengths: mean latency is least. A prediction is
// rough, and a place changes hands at the cost of the loser's pages, so only a sequence with less than half as much to
// do preempts: the group is the binary order of magnitude. The scheduler's bound on bypassing keeps long ones from
// starving.
class ShortestRemaining final : public SchedulePolicy {
 public:
  explicit ShortestRemaining(bool preempts) : preempts_(preempts) {}

  Rank rank(const Sequence& sequence, const PolicyView& view) const override {
    const std::int64_t answer = std::max<std::int64_t>(1, sequence.predicted_output - sequence.output_tokens());
    const double work = static_cast<double>(std::max<std::int64_t>(0, sequence.remaining())) * view.cost.token_ms +
                        static_cast<double>(answer) * step_ms(view.cost);
    return {.group = preempts_ ? static_cast<double>(std::ilogb(std::max(work, 1e-3))) : 0.0, .key = work};
  }
  bool preempts() const noexcept override { return preempts_; }

 private:
  static double step_ms(const StepCost& cost) { return cost.milliseconds({.tokens = 1, .kv_tokens = 0, .samples = 1}); }
  bool preempts_;
};

}  // namespace

PolicyKind shortest_remaining() {
  return {"shortest-remaining",
          "least predicted remaining work first, preempting much longer requests",
          [](const PolicyOptions& options) {
            const bool preempts = options.values.on(kPreemptShorter);
            return std::unique_ptr<SchedulePolicy>(std::make_unique<ShortestRemaining>(preempts));
          },
          {kPreemptShorter}};
}

}  // namespace millrace::sched::policies
