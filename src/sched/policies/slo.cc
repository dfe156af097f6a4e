#include <algorithm>
#include <cmath>
#include <limits>

#include "sched/schedule_policy.h"

namespace millrace::sched::policies {
namespace {

constexpr OptionSpec kRejectLate = {
    .name = "reject_late",
    .kind = OptionSpec::Kind::kSwitch,
    .help = "Reject requests that cannot meet their latency targets; needs --scheduling-policy slo"};
constexpr double kNever = 1e15;  // milliseconds: the slack of a sequence without a target

// Goodput is the number of requests that meet their targets (DistServe, arXiv:2401.09670). The one with the least slack
// goes first: time until its next target less the time it still needs for it. Time spent on one that cannot make it any
// more is lost to those that can, so it goes behind all of them, or is rejected where that was asked for.
class Slo final : public SchedulePolicy {
 public:
  explicit Slo(bool rejects) : rejects_(rejects) {}

  Rank rank(const Sequence& sequence, const PolicyView& view) const override {
    const double slack = slack_ms(sequence, view);
    return {.group = slack < 0.0 ? 1.0 : 0.0, .key = slack};
  }
  bool may_reject() const noexcept override { return rejects_; }

  std::optional<Error> reject(const Sequence& sequence, const PolicyView& view) const override {
    if (sequence.output_tokens() > 0) return std::nullopt;  // it has begun to answer
    const double slack = slack_ms(sequence, view);
    if (slack >= 0.0) return std::nullopt;
    const bool first = first_token_slack_ms(sequence, view) < 0.0;
    return make_error(ErrorCode::kResourceExhausted, first ? "ttft_target_ms" : "deadline",
                      "the request waits for {:.0f} ms and would miss its {} by {:.0f} ms",
                      milliseconds_between(sequence.arrival, view.now),
                      first ? "target of the first token" : "deadline", -slack);
  }

 private:
  static double slack_ms(const Sequence& sequence, const PolicyView& view) {
    const double next =
        sequence.output_tokens() == 0 ? first_token_slack_ms(sequence, view) : next_token_slack_ms(sequence, view);
    return std::min(next, deadline_slack_ms(sequence, view));
  }
  static double first_token_slack_ms(const Sequence& sequence, const PolicyView& view) {
    if (sequence.ttft_target_ms <= 0.0) return kNever;
    return sequence.ttft_target_ms - milliseconds_between(sequence.arrival, view.now) - prompt_ms(sequence, view.cost);
  }
  // The target is the mean over the answer, so a late token can be made up for by the next.
  static double next_token_slack_ms(const Sequence& sequence, const PolicyView& view) {
    if (sequence.tpot_target_ms <= 0.0 || !sequence.first_token) return kNever;
    const double due = sequence.tpot_target_ms * static_cast<double>(sequence.output_tokens());
    return due - milliseconds_between(*sequence.first_token, view.now) - prompt_ms(sequence, view.cost);
  }
  static double deadline_slack_ms(const Sequence& sequence, const PolicyView& view) {
    if (!sequence.deadline) return kNever;
    const std::int64_t answer = std::max<std::int64_t>(1, sequence.predicted_output - sequence.output_tokens());
    const double needed = prompt_ms(sequence, view.cost) +
                          static_cast<double>(answer - 1) * view.cost.milliseconds({.tokens = 1, .samples = 1});
    return milliseconds_between(view.now, *sequence.deadline) - needed;
  }
  // Of all that must be computed before its next token, alone in a step.
  static double prompt_ms(const Sequence& sequence, const StepCost& cost) {
    StepWork work{.samples = 1};
    work.add(std::max<std::int64_t>(0, sequence.remaining()), sequence.scheduled);
    return cost.milliseconds(work);
  }
  bool rejects_;
};

}  // namespace

PolicyKind slo() {
  return {"slo",
          "least slack to the TTFT and TPOT targets first, requests that cannot meet them last",
          [](const PolicyOptions& options) {
            return std::unique_ptr<SchedulePolicy>(std::make_unique<Slo>(options.values.on(kRejectLate)));
          },
          {kRejectLate}};
}

}  // namespace millrace::sched::policies
