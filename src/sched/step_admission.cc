#include "sched/step_admission.h"

#include <algorithm>
#include <utility>

#include "sched/page_shortage.h"

namespace millrace::sched {
namespace {

constexpr int kLookPast = 8;             // waiting ones that do not fit, behind which others are still tried
constexpr std::size_t kMaxVictims = 16;  // that one urgent sequence may take the places of

bool may_start_batch(const PlanDraft& draft) {
  const StepInput& input = *draft.input;
  const auto waiting = input.waiting.by_arrival();
  if (!input.running.empty() || waiting.empty()) return false;
  if (static_cast<std::int64_t>(waiting.size()) >= draft.config.slots()) return true;
  const bool dynamic = draft.config.batching == BatchingMode::kDynamic;
  const TimePoint since = dynamic ? waiting.front()->arrival : input.last_arrival;
  return milliseconds_between(since, input.view.now) >= draft.config.batch_wait_ms;
}

JoiningSequence joining_at(const PlanDraft& draft, const Place& place) {
  const Sequence& sequence = *place.sequence;
  JoiningSequence joining{.member = {.place = place, .takes_part = true}, .match = {}};
  PlanMember& member = joining.member;
  if (sequence.swapped) {
    member.start = sequence.computed;
    member.held = static_cast<std::int32_t>(sequence.swapped->pages());
    member.first_page = kv::needed(draft.cache, *sequence.swapped, member.start + 1);
  } else if (!sequence.blocks.blocks().empty()) {
    member.start = sequence.scheduled;
    member.held = static_cast<std::int32_t>(sequence.blocks.blocks().size());
    member.first_page = kv::at_end(draft.cache, draft.cache.needed(sequence.blocks, member.start, member.start + 1));
  } else {
    joining.match = draft.cache.match(sequence.scope, sequence.lookup());
    member.start = joining.match.tokens;
    member.held = static_cast<std::int32_t>(joining.match.pages.size());
    member.first_page = kv::needed(draft.cache, joining.match, member.start + 1);
  }
  member.chunk = draft.longest_chunk(sequence.length() - member.start);
  member.decoding = sequence.output_tokens() > 0 && sequence.length() - member.start == 1;
  return joining;
}

}  // namespace

StepAdmission::StepAdmission(const Config& config, const kv::PagedCache& cache,
                             std::span<const AdmissionResourceKind> kinds) {
  std::vector<const AdmissionResourceKind*> order;
  for (const AdmissionResourceKind& kind : kinds) order.push_back(&kind);
  std::ranges::sort(order, {}, [](const auto* kind) { return std::pair(kind->order, kind->name); });
  const OptionValues options = config.resource_options ? *config.resource_options : OptionValues();
  for (const AdmissionResourceKind* kind : order) resources_.push_back(kind->make({config, cache, options}));
}

std::optional<Error> StepAdmission::never_fits(const Sequence& sequence) const {
  for (const auto& resource : resources_) {
    if (auto error = resource->never_fits(sequence)) return error;
  }
  return std::nullopt;
}

bool StepAdmission::begin(const PlanDraft& draft) {
  return std::ranges::all_of(resources_, [&](auto& resource) { return resource->begin(draft); });
}

bool StepAdmission::open_to(const PlanDraft& draft, const Place& place) const {
  return std::ranges::all_of(resources_, [&](auto& resource) { return resource->open_to(draft, place); });
}

bool StepAdmission::awaited(const Sequence& sequence) const {
  return std::ranges::any_of(resources_, [&](auto& resource) { return resource->awaited(sequence); });
}

// Whether admitting the sequence bypasses none of those that arrived earlier and keep waiting more than max_bypassed
// times. O(1) where none was bypassed that often, else O(n) in those that arrived earlier.
bool StepAdmission::may_pass(const PlanDraft& draft, const Sequence& sequence) const {
  const auto joined = static_cast<std::int32_t>(draft.plan->admitted.size());
  const std::int32_t max_bypassed = draft.config.max_bypassed;
  if (draft.input->waiting.max_bypassed() + joined < max_bypassed) return true;
  for (const Sequence* earlier : draft.input->waiting.by_arrival()) {
    if (!arrived_before(*earlier, sequence)) return true;
    if (earlier->paused || awaited(*earlier)) continue;
    std::int32_t bypassed = earlier->bypassed;
    bool joins = false;
    for (const Admission& admission : draft.plan->admitted) {
      joins = joins || admission.sequence == earlier;
      bypassed += arrived_before(*earlier, *admission.sequence) ? 1 : 0;
    }
    if (!joins && bypassed >= max_bypassed) return false;
  }
  return true;
}

const AdmissionResource* StepAdmission::lacking(const PlanDraft& draft, const JoiningSequence& joining) {
  const auto found = std::ranges::find_if(resources_, [&](auto& resource) { return !resource->fits(draft, joining); });
  return found == resources_.end() ? nullptr : found->get();
}

void StepAdmission::admit(PlanDraft& draft) {
  const bool continuous = draft.config.batching == BatchingMode::kContinuous;
  if (draft.pages_short || draft.input->waiting.by_arrival().empty()) return;
  if (!(continuous || may_start_batch(draft)) || !begin(draft)) return;
  line_.start(draft);
  Place place;
  for (int failed = 0; failed <= kLookPast;) {
    Sequence* sequence = line_.next(draft, place);
    if (sequence == nullptr || !open_to(draft, place)) break;
    if (awaited(*sequence)) continue;
    if (!may_pass(draft, *sequence) || !try_to_admit(draft, place)) ++failed;
  }
  if (draft.nobody_runs()) admit_anyone(draft);
}

// An idle engine serves whom it can, whatever the order: those that do not fit may be waiting for the pages that this
// one was leased. If it can serve none, a waiting one loses what it was leased.
void StepAdmission::admit_anyone(PlanDraft& draft) {
  line_.start(draft);
  Place place;
  bool wanted = false;
  while (line_.next(draft, place) != nullptr) {
    if (awaited(*place.sequence)) continue;
    if (try_to_admit(draft, place)) return;
    wanted = true;
  }
  if (wanted) take_leased_pages(draft);
}

bool StepAdmission::try_to_admit(PlanDraft& draft, const Place& place) {
  JoiningSequence joining = joining_at(draft, place);
  const AdmissionResource* lacks = lacking(draft, joining);
  if (lacks != nullptr && !make_room(draft, joining, lacks)) return false;
  for (const auto& resource : resources_) resource->commit(draft, joining);
  draft.join(joining.member, std::move(joining.match));
  return true;
}

// Preempts so that the one that joins lacks nothing; none if that cannot be reached. Where it could be reached but for
// steps in flight, those that take part in them are held back, and the next plan preempts them.
bool StepAdmission::make_room(PlanDraft& draft, const JoiningSequence& joining, const AdmissionResource* lacks) {
  if (!draft.may_preempt()) return false;
  if (find_victims(draft, joining, lacks, PlanDraft::Victims::kNow)) {
    for (const std::size_t index : victims_) draft.plan->preempted.push_back(draft.members[index].place.sequence);
    return true;
  }
  put_back_victims(draft);
  if (!draft.any_in_flight) return false;
  const bool found = find_victims(draft, joining, lacks, PlanDraft::Victims::kAfterStepsInFlight);
  put_back_victims(draft);
  for (const std::size_t index : victims_) {
    if (found && draft.members[index].place.sequence->in_flight > 0) draft.hold_back(draft.members[index]);
  }
  return false;
}

// Takes out those whose readers are slow, then, where the policy preempts, the last of those in higher groups, until
// the one that joins lacks nothing, or no more may be taken: false.
bool StepAdmission::find_victims(PlanDraft& draft, const JoiningSequence& joining, const AdmissionResource* lacks,
                                 PlanDraft::Victims allowed) {
  // Where only slow readers run they lose their places however often they did: no other would be served before they
  // read.
  const bool all_paused =
      std::ranges::none_of(draft.members, [](const PlanMember& m) { return m.stays && !m.place.sequence->paused; });
  struct Round {
    bool paused, spared;  // slow readers; those not preempted too often already
  };
  victims_.clear();
  for (const auto& [paused, spared] : {Round{true, true}, Round{true, false}, Round{false, true}}) {
    if (paused ? !draft.any_paused : !draft.policy.preempts()) continue;
    if (!spared && !all_paused) continue;
    for (std::size_t i = draft.members.size(); i-- > 0 && victims_.size() < kMaxVictims;) {
      PlanMember& victim = draft.members[i];
      const Sequence& sequence = *victim.place.sequence;
      if (sequence.paused != paused || sequence.state != SequenceState::kRunning) continue;
      if (!draft.may_be_victim(victim, allowed) || (spared && sequence.preemptions >= draft.config.max_preemptions))
        continue;
      if (!paused && victim.place.rank.group <= joining.member.place.rank.group) break;
      if (!lacks->relieved_by(draft, victim, joining)) continue;
      draft.take_out(victim);
      for (const auto& resource : resources_) resource->release(draft, victim);
      victims_.push_back(i);
      lacks = lacking(draft, joining);
      if (lacks == nullptr) return true;
    }
  }
  return false;
}

void StepAdmission::put_back_victims(PlanDraft& draft) {
  for (const std::size_t index : victims_) {
    PlanMember& member = draft.members[index];
    draft.put_back(member);
    for (const auto& resource : resources_) resource->restore(draft, member);
  }
}

}  // namespace millrace::sched
