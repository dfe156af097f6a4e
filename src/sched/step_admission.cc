#include <algorithm>

#include "sched/step_planner.h"

namespace millrace::sched {
namespace {

constexpr int kLookPast = 8;             // waiting ones that do not fit, behind which others are still tried
constexpr std::size_t kMaxVictims = 16;  // that one urgent sequence may take the places of

constexpr std::size_t kFirstPlaces = 16;  // of the line that are sorted before more are asked for

}  // namespace

void StepPlanner::reject_late() {
  if (!policy_.may_reject()) return;
  for (Sequence* sequence : input_->waiting.by_arrival()) {
    if (auto error = policy_.reject(*sequence, input_->view)) plan_->rejected.push_back({sequence, std::move(*error)});
  }
}

bool StepPlanner::may_start_batch() const {
  const auto waiting = input_->waiting.by_arrival();
  if (!input_->running.empty() || waiting.empty()) return false;
  if (static_cast<std::int64_t>(waiting.size()) >= slots_) return true;
  const TimePoint since = config_.batching == BatchingMode::kDynamic ? waiting.front()->arrival : input_->last_arrival;
  return milliseconds_between(since, input_->view.now) >= config_.batch_wait_ms;
}

// Tokens of prompts that this step can take, of all sequences.
std::int64_t StepPlanner::prompt_room() const {
  const StepWork decodes = decode_work();
  std::int64_t room = config_.max_batched_tokens;
  if (policy_.step_order() == StepOrder::kDecodesFirst) room -= decodes.tokens;
  if (config_.tpot_target_ms > 0.0 && decodes.tokens > 0 && room > 0) {
    const std::int64_t in_time = input_->view.cost.tokens_within(config_.tpot_target_ms, decodes, 0, room);
    room = std::max<std::int64_t>(1, in_time);
  }
  return room;
}

// And those that others will take before one at `place`.
std::int64_t StepPlanner::tokens_ahead(const Place& place) const {
  const bool as_ranked = policy_.step_order() == StepOrder::kAsRanked;
  std::int64_t tokens = 0;
  for (const Member& member : members_) {
    if (member.takes_part && (as_ranked || !member.decoding) && goes_before(member.place, place))
      tokens += member.chunk;
  }
  return tokens;
}

void StepPlanner::line_up() {
  const WaitingQueue& waiting = input_->waiting;
  overdue_.clear();
  next_overdue_ = next_place_ = 0;
  if (waiting.max_bypassed() >= config_.max_bypassed) {
    for (Sequence* sequence : waiting.by_arrival()) {
      if (sequence->bypassed >= config_.max_bypassed) overdue_.push_back(sequence);
    }
  }
  if (waiting.ranks_stay()) return;
  // OPTIMIZATION: few are ever asked for, so the first ones are selected and the rest is not kept: of 1,000 waiting 9
  // us rather than 20 for a heap of all.
  line_.clear();
  for (Sequence* sequence : waiting.by_arrival()) {
    const Place place = place_of(*sequence, policy_.rank(*sequence, input_->view));
    if (line_.size() == kFirstPlaces && !goes_before(place, line_.back())) continue;
    if (line_.size() == kFirstPlaces) line_.pop_back();
    line_.insert(std::upper_bound(line_.begin(), line_.end(), place, goes_before), place);
  }
}

void StepPlanner::line_up_all() {
  line_.clear();
  for (Sequence* sequence : input_->waiting.by_arrival()) {
    line_.push_back(place_of(*sequence, policy_.rank(*sequence, input_->view)));
  }
  std::sort(line_.begin(), line_.end(), goes_before);
}

// Those bypassed too often by arrival, then the others as the policy has them; null at the end.
Sequence* StepPlanner::next_in_line(Place& place) {
  const auto rejected = [&](const Sequence* sequence) {
    return std::any_of(plan_->rejected.begin(), plan_->rejected.end(),
                       [&](const Rejection& rejection) { return rejection.sequence == sequence; });
  };
  while (next_overdue_ < overdue_.size()) {
    Sequence* sequence = overdue_[next_overdue_++];
    if (sequence->paused || rejected(sequence)) continue;
    place = place_of(*sequence, policy_.rank(*sequence, input_->view));
    return sequence;
  }
  const auto ranked = input_->waiting.by_rank();
  while (true) {
    if (input_->waiting.ranks_stay()) {
      if (next_place_ == ranked.size()) return nullptr;
      place = ranked[ranked.size() - ++next_place_];
    } else {
      if (next_place_ == kFirstPlaces && line_.size() == kFirstPlaces) line_up_all();
      if (next_place_ == line_.size()) return nullptr;
      place = line_[next_place_++];
    }
    const Sequence& sequence = *place.sequence;
    if (!sequence.paused && sequence.bypassed < config_.max_bypassed && !rejected(&sequence)) return place.sequence;
  }
}

// Whether none that arrived earlier and keeps waiting would be bypassed once too often.
bool StepPlanner::may_pass(const Sequence& sequence) const {
  const auto joined = static_cast<std::int32_t>(plan_->admitted.size());
  if (input_->waiting.max_bypassed() + joined < config_.max_bypassed) return true;
  for (const Sequence* earlier : input_->waiting.by_arrival()) {
    if (!arrived_before(*earlier, sequence)) return true;
    if (earlier->paused) continue;
    std::int32_t bypassed = earlier->bypassed;
    bool joins = false;
    for (const Admission& admission : plan_->admitted) {
      joins = joins || admission.sequence == earlier;
      bypassed += arrived_before(*earlier, *admission.sequence) ? 1 : 0;
    }
    if (!joins && bypassed >= config_.max_bypassed) return false;
  }
  return true;
}

bool StepPlanner::nobody_runs() const {
  return std::none_of(members_.begin(), members_.end(), [](const Member& member) { return member.stays; });
}

void StepPlanner::admit() {
  const bool continuous = config_.batching == BatchingMode::kContinuous;
  if (pages_short_ || input_->waiting.by_arrival().empty() || !(continuous || may_start_batch())) return;
  const bool can_make_room = paused_ones_ || policy_.preempts();
  if (account_.free_slots <= 0 && !can_make_room) return;
  const std::int64_t room = prompt_room();
  if (room <= 0) return;
  line_up();
  Place place;
  for (int failed = 0; failed <= kLookPast;) {
    if (account_.free_slots <= 0 && !can_make_room) break;
    Sequence* sequence = next_in_line(place);
    if (sequence == nullptr) break;
    // A batch begins together even if not everybody is served in its first step.
    if (continuous && tokens_ahead(place) >= room) break;
    if (!may_pass(*sequence) || !try_to_admit(place)) ++failed;
  }
  if (nobody_runs()) admit_anyone();
}

// An idle engine serves whom it can, whatever the order: those that do not fit may be waiting for the pages that this
// one was leased. If it can serve none, a waiting one loses what it was leased.
void StepPlanner::admit_anyone() {
  line_up();
  Place place;
  bool wanted = false;
  while (next_in_line(place) != nullptr) {
    if (try_to_admit(place)) return;
    wanted = true;
  }
  if (wanted) take_leased_pages();
}

bool StepPlanner::try_to_admit(const Place& place) {
  Member member = joining(place);
  const PeakDemand demand = demand_of(*place.sequence, static_cast<std::int64_t>(match_.pages.size()));
  if (!(account_.free_slots > 0 && fits(member, demand)) && !make_room(member, demand)) return false;
  if (estimated_) {
    estimate_.add(demand);
    capacity_pages_ += static_cast<std::int64_t>(place.sequence->blocks.blocks().size()) - match_.idle;
  }
  account_.required += member.first_page;
  account_.reserved += extra_pages(member, member.chunk + 1);
  --account_.free_slots;
  members_.push_back(member);
  plan_->admitted.push_back({place.sequence, std::move(match_)});
  match_ = {};
  return true;
}

StepPlanner::Member StepPlanner::joining(const Place& place) {
  const Sequence& sequence = *place.sequence;
  Member member{.place = place, .takes_part = true};
  match_ = {};
  if (sequence.swapped) {
    member.start = sequence.computed;
    member.held = static_cast<std::int32_t>(sequence.swapped->pages());
    member.first_page =
        static_cast<std::int32_t>(std::max<std::int64_t>(sequence.swapped->pages(), pages_of(member.start + 1)));
  } else if (!sequence.blocks.blocks().empty()) {
    member.start = sequence.scheduled;
    member.held = static_cast<std::int32_t>(sequence.blocks.blocks().size());
    member.first_page = cache_.needed(sequence.blocks, member.start, member.start + 1);
  } else {
    match_ = cache_.match(sequence.scope, sequence.lookup());
    member.start = match_.tokens;
    member.held = static_cast<std::int32_t>(match_.pages.size());
    member.first_page = static_cast<std::int32_t>(pages_of(member.start + 1)) - member.held + match_.idle;
  }
  member.chunk = longest_chunk(sequence.length() - member.start);
  member.decoding = sequence.output_tokens() > 0 && sequence.length() - member.start == 1;
  return member;
}

// Its next chunk and one more now, and the predicted peak of all; alone, no more than what it has to compute.
bool StepPlanner::fits(const Member& member, const PeakDemand& demand) {
  const std::int32_t free = account_.available - account_.required - account_.reserved;
  const Sequence& sequence = *member.place.sequence;
  const bool alone = nobody_runs();
  const std::int64_t next =
      std::min((alone ? sequence.length() - member.start : member.chunk) + 1, sequence.max_total - member.start);
  if (member.first_page + extra_pages(member, next) > free) return false;
  if (alone) return true;
  if (!estimated_) build_estimate();
  const std::int64_t leased = static_cast<std::int64_t>(sequence.blocks.blocks().size());
  return estimate_.peak_with(demand) <= (capacity_pages_ - match_.idle + leased) * cache_.block_tokens();
}

// Preempts those whose readers are slow, then, where the policy preempts, the last of those in higher groups, until the
// one that joins fits; none if it cannot be made to.
bool StepPlanner::make_room(const Member& member, const PeakDemand& demand) {
  const Account before = account_;
  // Where only slow readers run they lose their places however often they did: no other would be served before they
  // read.
  const bool all_paused =
      std::ranges::none_of(members_, [](const Member& m) { return m.stays && !m.place.sequence->paused; });
  struct Round {
    bool paused, spared;  // slow readers; those not preempted too often already
  };
  victims_.clear();
  for (const auto& [paused, spared] : {Round{true, true}, Round{true, false}, Round{false, true}}) {
    if (paused ? !paused_ones_ : !policy_.preempts()) continue;
    if (!spared && !all_paused) continue;
    for (std::size_t i = members_.size(); i-- > 0 && victims_.size() < kMaxVictims;) {
      Member& victim = members_[i];
      const Sequence& sequence = *victim.place.sequence;
      if (sequence.paused != paused || sequence.state != SequenceState::kRunning || !may_be_victim(victim)) continue;
      if (spared && sequence.preemptions >= config_.max_preemptions) continue;
      if (!paused && victim.place.rank.group <= member.place.rank.group) break;
      if (account_.free_slots > 0 && gain(victim) == 0) continue;
      take_out(victim);
      victims_.push_back(i);
      if (!fits(member, demand)) continue;
      for (const std::size_t index : victims_) plan_->preempted.push_back(members_[index].place.sequence);
      return true;
    }
  }
  for (const std::size_t index : victims_) {
    members_[index].stays = true;
    members_[index].takes_part = members_[index].chunk > 0;
  }
  if (!victims_.empty()) estimated_ = false;
  account_ = before;
  return false;
}

PeakDemand StepPlanner::demand_of(const Sequence& sequence, std::int64_t attached_pages) const {
  const std::int64_t pages =
      std::max<std::int64_t>(pages_of(sequence.length()), static_cast<std::int64_t>(sequence.blocks.blocks().size()));
  const std::int64_t left = std::max<std::int64_t>(1, sequence.predicted_output - sequence.output_tokens());
  const std::int64_t expected = std::clamp<std::int64_t>(sequence.max_total - sequence.length(), 0, left);
  const std::int64_t room = pages * cache_.block_tokens() - sequence.length();  // in its last page
  return {.held = std::max<std::int64_t>(0, pages - attached_pages) * cache_.block_tokens(),
          .remaining = std::max<std::int64_t>(0, expected - room)};
}

// Pages that a sequence found published count in no sequence's demand and are not part of what the peak may reach: so
// each counts once.
void StepPlanner::build_estimate() {
  demands_.clear();
  capacity_pages_ = account_.available;
  for (const Member& member : members_) {
    if (!member.stays) continue;
    const Sequence& sequence = *member.place.sequence;
    const bool joins = sequence.state == SequenceState::kWaiting;
    const std::int64_t blocks = static_cast<std::int64_t>(sequence.blocks.blocks().size());
    std::int64_t attached = sequence.attached_pages;
    if (joins) {
      const auto admission = std::find_if(plan_->admitted.begin(), plan_->admitted.end(),
                                          [&](const Admission& one) { return one.sequence == &sequence; });
      attached = static_cast<std::int64_t>(admission->match.pages.size());
      capacity_pages_ += blocks - admission->match.idle;
    } else {
      capacity_pages_ += blocks - attached;
    }
    demands_.push_back(demand_of(sequence, attached));
  }
  estimate_.assign(demands_);
  estimated_ = true;
}

}  // namespace millrace::sched
