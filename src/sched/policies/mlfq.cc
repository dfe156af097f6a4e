#include <algorithm>

#include "sched/policies/sequence_slots.h"
#include "sched/schedule_policy.h"

namespace millrace::sched::policies {
namespace {

constexpr int kLevels = 12;  // quanta double from level to level

struct Progress {
  int level = 0;
  double used_ms = 0.0;   // of the level's quantum
  TimePoint last_served;  // or when it arrived
};

constexpr OptionSpec kFirstQuantum = {
    .name = "first_quantum_ms",
    .flags = "--mlfq-first-quantum-ms",
    .high = 1e6,
    .help =
        "Milliseconds of service at the first level of --scheduling-policy mlfq; 0 = the time of eight steps of one "
        "token"};
constexpr OptionSpec kStarvation = {
    .name = "starvation_ms",
    .flags = "--mlfq-starvation-ms",
    .high = 1e9,
    .neutral = 2000.0,
    .help = "Milliseconds without service after which --scheduling-policy mlfq promotes a request to the first level"};

// Multi-level feedback queue with skip-join (FastServe, arXiv:2305.05920): no length needs to be known. A request joins
// at the first level whose quantum covers its prompt, goes down a level when it has used the quantum up, and goes up to
// the first when it has not been served for `starvation_ms`. A higher level takes a lower one's place.
class Mlfq final : public SchedulePolicy {
 public:
  explicit Mlfq(const PolicyOptions& options)
      : first_quantum_ms_(options.values.number(kFirstQuantum)), starvation_ms_(options.values.number(kStarvation)) {}

  Rank rank(const Sequence& sequence, const PolicyView& view) const override {
    const Progress& progress = slots_[sequence.policy_slot];
    return {.group = starved(progress, view) ? 0.0 : static_cast<double>(progress.level)};
  }
  bool preempts() const noexcept override { return true; }

  void arrived(Sequence& sequence, const PolicyView& view) override {
    StepWork prompt;
    prompt.add(sequence.remaining(), sequence.scheduled);
    Progress progress{.level = 0, .used_ms = 0.0, .last_served = view.now};
    const double needed_ms = view.cost.milliseconds(prompt);
    while (progress.level < kLevels - 1 && quantum_ms(progress.level, view) < needed_ms) ++progress.level;
    sequence.policy_slot = slots_.take(progress);
  }

  void served(const Sequence& sequence, std::int64_t n_tokens, bool sampled, const PolicyView& view) override {
    Progress& progress = slots_[sequence.policy_slot];
    if (starved(progress, view)) progress = {};
    progress.last_served = view.now;
    StepWork work;
    work.add(n_tokens, sequence.computed - n_tokens);
    work.samples = sampled ? 1 : 0;
    progress.used_ms += view.cost.milliseconds(work);
    while (progress.level < kLevels - 1 && progress.used_ms >= quantum_ms(progress.level, view)) {
      progress.used_ms -= quantum_ms(progress.level, view);
      ++progress.level;
    }
  }

  void left(const Sequence& sequence) override { slots_.release(sequence.policy_slot); }

 private:
  bool starved(const Progress& progress, const PolicyView& view) const {
    return progress.level > 0 && milliseconds_between(progress.last_served, view.now) >= starvation_ms_;
  }
  double quantum_ms(int level, const PolicyView& view) const {
    constexpr StepWork kStep{.tokens = 1, .kv_tokens = 0, .samples = 1};
    const double first = first_quantum_ms_ > 0.0 ? first_quantum_ms_ : 8.0 * view.cost.milliseconds(kStep);
    return std::max(first, 1e-3) * static_cast<double>(1 << level);
  }

  double first_quantum_ms_, starvation_ms_;
  SequenceSlots<Progress> slots_;
};

}  // namespace

PolicyKind mlfq() {
  return {"mlfq",
          "skip-join multi-level feedback queue (FastServe), higher levels preempting lower ones",
          [](const PolicyOptions& options) { return std::unique_ptr<SchedulePolicy>(std::make_unique<Mlfq>(options)); },
          {kFirstQuantum, kStarvation}};
}

}  // namespace millrace::sched::policies
