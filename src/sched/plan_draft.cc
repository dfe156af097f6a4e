#include "sched/plan_draft.h"

#include <utility>

namespace millrace::sched {

void PlanDraft::start(const StepInput& step_input, StepPlan& step_plan) {
  input = &step_input;
  plan = &step_plan;
  plan->clear();
  members.clear();
  oldest = nullptr;
  any_paused = any_in_flight = pages_short = false;
  pages = {.available = cache.room(), .required = {}};
  bool in_order = true;
  for (Sequence* sequence : input->running) {
    PlanMember member;
    member.place = place_of(*sequence, policy.rank(*sequence, input->view));
    member.start = sequence->scheduled;
    member.held = static_cast<std::int32_t>(sequence->blocks.blocks().size());
    any_in_flight = any_in_flight || sequence->in_flight > 0;
    if (sequence->paused) {
      any_paused = true;
    } else {
      if (oldest == nullptr && !sequence->blocked) oldest = sequence;
      member.chunk = longest_chunk(sequence->remaining());
    }
    if (member.chunk > 0) {
      member.takes_part = true;
      member.decoding = sequence->decoding();
      member.first_page = kv::at_end(cache, cache.needed(sequence->blocks, member.start, member.start + 1));
      pages.required += member.first_page;
    }
    in_order = in_order && (members.empty() || goes_before(members.back().place, member.place));
    members.push_back(member);
  }
  if (!in_order) sort_members();
}

// Of a sequence that has pages ahead of its tokens, some may be others' too: the cache knows which.
std::int32_t PlanDraft::extra_pages(const PlanMember& member, std::int64_t n_tokens) const {
  const Sequence& sequence = *member.place.sequence;
  const std::int64_t first = pages_of(member.start + 1);
  if (member.held > first && !sequence.swapped) {
    return cache.needed(sequence.blocks, member.start, member.start + n_tokens) - member.first_page.pages;
  }
  const std::int64_t one = std::max<std::int64_t>(first, member.held);
  return static_cast<std::int32_t>(std::max<std::int64_t>(0, pages_of(member.start + n_tokens) - one));
}

std::int64_t PlanDraft::longest_chunk(std::int64_t remaining) const noexcept {
  const std::int64_t limit = config.long_prefill_tokens > 0 ? config.long_prefill_tokens : remaining;
  return std::min({remaining, limit, config.max_batched_tokens});
}

StepWork PlanDraft::decode_work() const {
  StepWork work;
  for (const PlanMember& member : members) {
    if (!member.takes_part || !member.decoding) continue;
    work.add(1, member.start);
    ++work.samples;
  }
  return work;
}

void PlanDraft::take_out(PlanMember& member) {
  pages.available += kv::releasable(cache, member.place.sequence->blocks);
  if (member.takes_part) pages.required -= member.first_page;
  member.takes_part = member.stays = false;
}

void PlanDraft::put_back(PlanMember& member) {
  member.stays = true;
  member.takes_part = member.chunk > 0;
  if (member.takes_part) pages.required += member.first_page;
  pages.available -= kv::releasable(cache, member.place.sequence->blocks);
}

void PlanDraft::hold_back(PlanMember& member) {
  if (member.takes_part) pages.required -= member.first_page;
  member.takes_part = false;
}

void PlanDraft::join(const PlanMember& member, kv::PrefixMatch match) {
  pages.required += member.first_page;
  members.push_back(member);
  plan->admitted.push_back({member.place.sequence, std::move(match)});
}

void PlanDraft::sort_members() {
  std::sort(members.begin(), members.end(),
            [](const PlanMember& a, const PlanMember& b) { return goes_before(a.place, b.place); });
}

}  // namespace millrace::sched
