#include "sched/scheduler.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace millrace::sched {
namespace {

constexpr int kHintsAStep = 4;  // waiting sequences whose cached_hint is looked up anew in each step

}  // namespace

Scheduler::Scheduler(const Config& config, std::unique_ptr<SchedulePolicy> policy, const kv::PagedCache& cache,
                     std::span<const AdmissionResourceKind> resources)
    : config_(config),
      policy_(std::move(policy)),
      cache_(cache),
      waiting_(policy_->ranks_stay()),
      planner_(config_, *policy_, cache_, resources) {
  CHECK_LT(0, config_.max_batched_tokens);
  CHECK_LT(0, config_.max_sequences);
}

PolicyView Scheduler::complete(const PolicyView& view) const noexcept {
  return {.now = view.now,
          .cost = view.cost,
          .waiting_tokens = waiting_.tokens(),
          .running = static_cast<std::int64_t>(running_.size()),
          .waiting = static_cast<std::int64_t>(waiting_.by_arrival().size())};
}

std::optional<Error> Scheduler::never_fits(const Sequence& sequence) const { return planner_.never_fits(sequence); }

void Scheduler::add(Sequence& sequence, const PolicyView& view) {
  CHECK(sequence.in_flight == 0 && sequence.remaining() > 0);
  sequence.state = SequenceState::kWaiting;
  last_arrival_ = std::max(last_arrival_, sequence.arrival);
  if (policy_->uses_cached_hint()) look_up(sequence);
  policy_->arrived(sequence, complete(view));
  if (never_fits(sequence)) {
    rejected_.push_back(&sequence);
    return;
  }
  waiting_.insert(place_of(sequence, policy_->rank(sequence, complete(view))));
}

StepPlan Scheduler::plan(const PolicyView& view) const {
  StepPlan result;
  plan(view, result);
  return result;
}

void Scheduler::plan(const PolicyView& view, StepPlan& plan) const {
  const PolicyView whole = complete(view);
  planner_.plan({.running = running_, .waiting = waiting_, .view = whole, .last_arrival = last_arrival_}, plan);
  for (Sequence* sequence : rejected_) plan.rejected.push_back({sequence, *never_fits(*sequence)});
}

std::vector<Sequence*> Scheduler::first_in_line(const PolicyView& view, std::size_t limit) const {
  const PolicyView whole = complete(view);
  std::vector<Place> line;
  for (Sequence* sequence : waiting()) {
    if (!sequence->paused) line.push_back(place_of(*sequence, policy_->rank(*sequence, whole)));
  }
  const auto overdue = [&](const Place& place) { return place.sequence->bypassed >= config_.max_bypassed; };
  const auto before = [&](const Place& a, const Place& b) {
    if (overdue(a) != overdue(b)) return overdue(a);
    return overdue(a) ? arrived_before(*a.sequence, *b.sequence) : goes_before(a, b);
  };
  const auto end = line.begin() + static_cast<std::ptrdiff_t>(std::min(limit, line.size()));
  std::partial_sort(line.begin(), end, line.end(), before);
  std::vector<Sequence*> first;
  for (auto place = line.begin(); place != end; ++place) first.push_back(place->sequence);
  return first;
}

std::optional<TimePoint> Scheduler::next_change() const {
  if (config_.batching == BatchingMode::kContinuous || !running_.empty() || waiting().empty()) return std::nullopt;
  const TimePoint since = config_.batching == BatchingMode::kDynamic ? waiting().front()->arrival : last_arrival_;
  return since +
         std::chrono::ceil<TimePoint::duration>(std::chrono::duration<double, std::milli>(config_.batch_wait_ms));
}

void Scheduler::insert_running(Sequence& sequence) {
  running_.insert(std::upper_bound(running_.begin(), running_.end(), &sequence, in_order_of_arrival), &sequence);
}

void Scheduler::launched(const StepPlan& plan, const PolicyView& view) {
  for (Sequence* sequence : plan.preempted) {
    if (sequence->state == SequenceState::kWaiting) waiting_.erase(*sequence);
    std::erase(running_, sequence);
    sequence->state = SequenceState::kWaiting;
    sequence->attached_pages = 0;
    sequence->starved_steps = 0;
    ++sequence->preemptions;
  }
  for (const Admission& admission : plan.admitted) {
    Sequence& sequence = *admission.sequence;
    waiting_.erase(sequence);
    sequence.state = SequenceState::kRunning;
    sequence.attached_pages = static_cast<std::int32_t>(admission.match.pages.size());
    sequence.starved_steps = 0;
    insert_running(sequence);
  }
  for (const Admission& admission : plan.admitted) waiting_.count_bypassed(*admission.sequence);
  for (Sequence* sequence : plan.preempted) {
    waiting_.insert(place_of(*sequence, policy_->rank(*sequence, complete(view))));
  }
  for (Sequence* sequence : running_) {
    if (!sequence->paused && sequence->remaining() > 0) ++sequence->starved_steps;
  }
  for (const StepRow& row : plan.rows) {
    row.sequence->scheduled += row.n_tokens;
    ++row.sequence->in_flight;
    row.sequence->starved_steps = 0;
    if (row.feeds && row.samples()) ++row.sequence->unseen;
  }
  if (policy_->uses_cached_hint()) refresh_hints();
}

// A few in each step, in turn: what is published changes with every step.
void Scheduler::refresh_hints() {
  const auto all = waiting();
  for (int i = 0; i < kHintsAStep && i < static_cast<int>(all.size()); ++i) {
    next_hint_ = (next_hint_ + 1) % all.size();
    look_up(*all[next_hint_]);
  }
}

void Scheduler::look_up(Sequence& sequence) const {
  sequence.cached_hint = cache_.match(sequence.scope, sequence.lookup()).tokens;
}

void Scheduler::committed(const StepPlan& plan, const PolicyView& view) {
  const PolicyView whole = complete(view);
  for (const StepRow& row : plan.rows) {
    Sequence& sequence = *row.sequence;
    sequence.computed += row.n_tokens;
    --sequence.in_flight;
    if (row.feeds && row.samples()) --sequence.unseen;
    policy_->served(sequence, row.n_tokens - row.drafted(), row.samples(), whole);
  }
}

void Scheduler::accepted(Sequence& sequence, const PolicyView& view) {
  policy_->served(sequence, 1, true, complete(view));
}

void Scheduler::remove(Sequence& sequence) {
  CHECK_EQ(sequence.in_flight, 0);
  waiting_.erase(sequence);
  std::erase(running_, &sequence);
  std::erase(rejected_, &sequence);
  sequence.state = SequenceState::kFinished;
  policy_->left(sequence);
}

void Scheduler::check_integrity() const {
  waiting_.check_integrity();
  CHECK_LE(static_cast<std::int64_t>(running_.size()), config_.slots());
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const Sequence& sequence = *running_[i];
    CHECK(i == 0 || arrived_before(*running_[i - 1], sequence));
    CHECK(sequence.state == SequenceState::kRunning);
    CHECK_LE(0, sequence.in_flight);
    CHECK_LE(0, sequence.computed);
    CHECK_LE(sequence.computed, sequence.scheduled);
    CHECK_EQ(sequence.computed == sequence.scheduled, sequence.in_flight == 0);
    const std::int64_t drafts = sequence.in_flight > 0 ? static_cast<std::int64_t>(sequence.drafts.size()) : 0;
    CHECK_LE(sequence.scheduled, sequence.planned_length() + drafts);
    CHECK_LE(sequence.planned_length(), sequence.max_total);
    CHECK_LE(0, sequence.unseen);
    CHECK(sequence.unseen == 0 || sequence.in_flight > 0);
    CHECK_LE(sequence.scheduled, sequence.blocks.capacity_tokens());
    CHECK(!sequence.swapped);
  }
}

}  // namespace millrace::sched
