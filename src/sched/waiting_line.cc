#include "sched/waiting_line.h"

#include <algorithm>

namespace millrace::sched {
namespace {

constexpr std::size_t kFirstPlaces = 16;  // of the line that are sorted before more are asked for

bool rejected(const StepPlan& plan, const Sequence* sequence) {
  return std::any_of(plan.rejected.begin(), plan.rejected.end(),
                     [&](const Rejection& rejection) { return rejection.sequence == sequence; });
}

}  // namespace

void WaitingLine::start(const PlanDraft& draft) {
  const WaitingQueue& waiting = draft.input->waiting;
  overdue_.clear();
  next_overdue_ = next_place_ = 0;
  if (waiting.max_bypassed() >= draft.config.max_bypassed) {
    for (Sequence* sequence : waiting.by_arrival()) {
      if (sequence->bypassed >= draft.config.max_bypassed) overdue_.push_back(sequence);
    }
  }
  if (waiting.ranks_stay()) return;
  // OPTIMIZATION: few are ever asked for, so the first ones are selected and the rest is not kept: of 1,000 waiting 9
  // us rather than 20 for a heap of all.
  line_.clear();
  for (Sequence* sequence : waiting.by_arrival()) {
    const Place place = place_of(*sequence, draft.policy.rank(*sequence, draft.input->view));
    if (line_.size() == kFirstPlaces && !goes_before(place, line_.back())) continue;
    if (line_.size() == kFirstPlaces) line_.pop_back();
    line_.insert(std::upper_bound(line_.begin(), line_.end(), place, goes_before), place);
  }
}

void WaitingLine::line_up_all(const PlanDraft& draft) {
  line_.clear();
  for (Sequence* sequence : draft.input->waiting.by_arrival()) {
    line_.push_back(place_of(*sequence, draft.policy.rank(*sequence, draft.input->view)));
  }
  std::sort(line_.begin(), line_.end(), goes_before);
}

Sequence* WaitingLine::next(const PlanDraft& draft, Place& place) {
  const WaitingQueue& waiting = draft.input->waiting;
  while (next_overdue_ < overdue_.size()) {
    Sequence* sequence = overdue_[next_overdue_++];
    if (sequence->paused || rejected(*draft.plan, sequence)) continue;
    place = place_of(*sequence, draft.policy.rank(*sequence, draft.input->view));
    return sequence;
  }
  const auto ranked = waiting.by_rank();
  while (true) {
    if (waiting.ranks_stay()) {
      if (next_place_ == ranked.size()) return nullptr;
      place = ranked[ranked.size() - ++next_place_];
    } else {
      if (next_place_ == kFirstPlaces && line_.size() == kFirstPlaces) line_up_all(draft);
      if (next_place_ == line_.size()) return nullptr;
      place = line_[next_place_++];
    }
    const Sequence& sequence = *place.sequence;
    const bool overdue = sequence.bypassed >= draft.config.max_bypassed;
    if (!sequence.paused && !overdue && !rejected(*draft.plan, &sequence)) return place.sequence;
  }
}

}  // namespace millrace::sched
