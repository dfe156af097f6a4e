#include "sched/step_planner.h"

#include <algorithm>
#include <limits>

namespace millrace::sched {

StepPlanner::StepPlanner(const Config& config, const SchedulePolicy& policy, const kv::PagedCache& cache)
    : config_(config),
      policy_(policy),
      cache_(cache),
      slots_(std::min(config.max_sequences, config.max_batched_tokens)) {}

void StepPlanner::plan(const StepInput& input, StepPlan& plan) {
  input_ = &input;
  plan_ = &plan;
  plan.clear();
  gather();
  find_pages();
  reject_late();
  admit();
  share_budget();
}

std::int64_t StepPlanner::pages_of(std::int64_t tokens) const noexcept {
  return (tokens + cache_.block_tokens() - 1) / cache_.block_tokens();
}

// Pages that n tokens take besides first_page. Of one that has pages ahead of its tokens, some may be others' too.
std::int32_t StepPlanner::extra_pages(const Member& member, std::int64_t n_tokens) const {
  const Sequence& sequence = *member.place.sequence;
  const std::int64_t first = pages_of(member.start + 1);
  if (member.held > first && !sequence.swapped) {
    return cache_.needed(sequence.blocks, member.start, member.start + n_tokens) - member.first_page;
  }
  const std::int64_t one = std::max<std::int64_t>(first, member.held);
  return static_cast<std::int32_t>(std::max<std::int64_t>(0, pages_of(member.start + n_tokens) - one));
}

std::int64_t StepPlanner::longest_chunk(std::int64_t remaining) const noexcept {
  const std::int64_t limit = config_.long_prefill_tokens > 0 ? config_.long_prefill_tokens : remaining;
  return std::min({remaining, limit, config_.max_batched_tokens});
}

void StepPlanner::gather() {
  members_.clear();
  oldest_ = nullptr;
  paused_ones_ = pages_short_ = estimated_ = false;
  account_ = {.available = cache_.available(),
              .required = 0,
              .reserved = 0,
              .free_slots = slots_ - static_cast<std::int64_t>(input_->running.size())};
  bool in_order = true;
  for (Sequence* sequence : input_->running) {
    Member member;
    member.place = place_of(*sequence, policy_.rank(*sequence, input_->view));
    member.start = sequence->scheduled;
    member.held = static_cast<std::int32_t>(sequence->blocks.blocks().size());
    if (sequence->paused) {
      paused_ones_ = true;
    } else {
      if (oldest_ == nullptr && !sequence->blocked) oldest_ = sequence;
      member.chunk = longest_chunk(sequence->remaining());
    }
    if (member.chunk > 0) {
      member.takes_part = true;
      member.decoding = sequence->decoding();
      member.first_page = cache_.needed(sequence->blocks, member.start, member.start + 1);
      account_.required += member.first_page;
    }
    in_order = in_order && (members_.empty() || goes_before(members_.back().place, member.place));
    members_.push_back(member);
  }
  if (in_order) return;
  std::sort(members_.begin(), members_.end(),
            [](const Member& a, const Member& b) { return goes_before(a.place, b.place); });
}

bool StepPlanner::may_be_victim(const Member& member) const {
  return member.stays && member.place.sequence->in_flight == 0 && member.place.sequence != oldest_;
}

std::int32_t StepPlanner::gain(const Member& member) const {
  return cache_.releasable(member.place.sequence->blocks) + (member.takes_part ? member.first_page : 0);
}

void StepPlanner::take_out(Member& member) {
  account_.available += cache_.releasable(member.place.sequence->blocks);
  if (member.takes_part) account_.required -= member.first_page;
  ++account_.free_slots;
  member.takes_part = member.stays = false;
  estimated_ = false;
}

// The last in the policy's order; before it those whose readers are slow, and after it, only where there is no other,
// those that were preempted too often already.
std::optional<std::size_t> StepPlanner::page_victim() const {
  for (const bool spared : {true, false}) {
    for (const bool paused : {true, false}) {
      for (std::size_t i = members_.size(); i-- > 0;) {
        const Sequence& sequence = *members_[i].place.sequence;
        if (sequence.paused != paused || (spared && sequence.preemptions >= config_.max_preemptions)) continue;
        if (may_be_victim(members_[i]) && gain(members_[i]) > 0) return i;
      }
    }
  }
  return std::nullopt;
}

// A session's pages may be computed again; the last to arrive loses them first.
bool StepPlanner::take_leased_pages() {
  const auto waiting = input_->waiting.by_arrival();
  for (std::size_t i = waiting.size(); i-- > 0;) {
    Sequence* sequence = waiting[i];
    const std::int32_t pages = cache_.releasable(sequence->blocks);
    const auto& taken = plan_->preempted;
    if (pages == 0 || std::find(taken.begin(), taken.end(), sequence) != taken.end()) continue;
    account_.available += pages;
    plan_->preempted.push_back(sequence);
    return true;
  }
  return take_pages_leased_together();
}

// Sessions forked from one lease the same pages, of which none would free any alone.
bool StepPlanner::take_pages_leased_together() {
  const auto& taken = plan_->preempted;
  std::vector<Sequence*> leases;
  for (Sequence* sequence : input_->waiting.by_arrival()) {
    if (std::find(taken.begin(), taken.end(), sequence) == taken.end()) leases.push_back(sequence);
  }
  std::vector<std::int32_t> held(static_cast<std::size_t>(cache_.total_pages()));  // by page: leases that hold it
  const auto count_held = [&] {
    std::fill(held.begin(), held.end(), 0);
    for (const Sequence* sequence : leases) {
      for (const kv::BlockId page : sequence->blocks.blocks()) ++held[static_cast<std::size_t>(page)];
    }
  };
  const auto only_theirs = [&](kv::BlockId page) {
    return held[static_cast<std::size_t>(page)] > 0 && cache_.holders(page) == held[static_cast<std::size_t>(page)];
  };
  count_held();
  for (std::size_t i = leases.size(); i-- > 0;) {
    const auto pages = leases[i]->blocks.blocks();
    const auto page = std::find_if(pages.begin(), pages.end(), only_theirs);
    if (page == pages.end()) continue;
    std::erase_if(leases, [wanted = *page](const Sequence* one) {
      const auto all = one->blocks.blocks();
      return std::find(all.begin(), all.end(), wanted) == all.end();
    });
    count_held();
    for (kv::BlockId one = 0; one < cache_.total_pages(); ++one) account_.available += only_theirs(one) ? 1 : 0;
    plan_->preempted.insert(plan_->preempted.end(), leases.rbegin(), leases.rend());
    return true;
  }
  return false;
}

void StepPlanner::find_pages() {
  while (account_.required > account_.available) {
    pages_short_ = true;
    const auto victim = page_victim();
    if (!victim) {
      if (!take_leased_pages()) break;
      continue;
    }
    take_out(members_[*victim]);
    plan_->preempted.push_back(members_[*victim].place.sequence);
  }
  // No other can be preempted now: the last ones have to wait for steps in flight; the oldest comes last of all.
  for (const bool all : {false, true}) {
    for (std::size_t i = members_.size(); i-- > 0 && account_.required > account_.available;) {
      Member& member = members_[i];
      if (!member.takes_part || member.first_page == 0 || (!all && member.place.sequence == oldest_)) continue;
      member.takes_part = false;
      account_.required -= member.first_page;
    }
  }
}

StepWork StepPlanner::decode_work() const {
  StepWork work;
  for (const Member& member : members_) {
    if (!member.takes_part || !member.decoding) continue;
    work.add(1, member.start);
    ++work.samples;
  }
  return work;
}

void StepPlanner::give(Member& member, std::int64_t n_tokens) {
  if (n_tokens <= member.n_tokens) return;
  budget_ -= n_tokens - member.n_tokens;
  spare_pages_ -= extra_pages(member, n_tokens) - extra_pages(member, std::max<std::int64_t>(1, member.n_tokens));
  if (!member.decoding) {
    work_.add(n_tokens - member.n_tokens, member.start + member.n_tokens);
    prompt_served_ = true;
  }
  member.n_tokens = n_tokens;
}

// Of n tokens, those that its pages and the spare ones hold.
std::int64_t StepPlanner::within_pages(const Member& member, std::int64_t n_tokens) const {
  const std::int64_t first_pages = std::max<std::int64_t>(pages_of(member.start + 1), member.held);
  const std::int64_t room = (first_pages + spare_pages_) * cache_.block_tokens() - member.start;
  const std::int64_t most = std::min(n_tokens, room);
  if (extra_pages(member, most) <= spare_pages_) return most;
  return std::min(most, pages_of(member.start + 1) * cache_.block_tokens() - member.start);
}

// Tokens of a prompt that budget, pages and time have left.
std::int64_t StepPlanner::prompt_share(const Member& member) const {
  const std::int64_t most = within_pages(member, std::min(member.chunk, budget_ + member.n_tokens));
  if (!limits_time_ || most <= member.n_tokens) return most;
  const std::int64_t in_time =
      member.n_tokens + input_->view.cost.tokens_within(config_.tpot_target_ms, work_, member.start + member.n_tokens,
                                                        most - member.n_tokens);
  return in_time == 0 && !prompt_served_ ? 1 : in_time;
}

void StepPlanner::give_in_turn(bool decoding) {
  for (Member& member : members_) {
    if (budget_ == 0) return;
    if (member.takes_part && member.decoding == decoding) give(member, decoding ? 1 : prompt_share(member));
  }
}

void StepPlanner::give_drafts() {
  for (Member& member : members_) {
    const auto drafts = static_cast<std::int64_t>(member.place.sequence->drafts.size());
    if (drafts == 0 || !member.decoding || member.n_tokens == 0) continue;
    give(member, within_pages(member, std::min(1 + drafts, budget_ + 1)));
  }
}

// Whole ones only, and only for sequences all of whose drafts are computed. The pages go back with the step.
void StepPlanner::give_branches() {
  for (Member& member : members_) {
    const Sequence& sequence = *member.place.sequence;
    if (!member.decoding || member.n_tokens != 1 + std::ssize(sequence.drafts)) continue;
    for (const auto& branch : sequence.branches) {
      const std::int64_t tokens = 1 + std::ssize(branch);
      const auto pages =
          static_cast<std::int32_t>(pages_of(member.start + tokens) - member.start / cache_.block_tokens());
      if (tokens > budget_ || pages > spare_pages_) break;
      budget_ -= tokens;
      spare_pages_ -= pages;
      ++member.branches;
    }
  }
}

void StepPlanner::share_budget() {
  if (!plan_->admitted.empty()) {
    std::sort(members_.begin(), members_.end(),
              [](const Member& a, const Member& b) { return goes_before(a.place, b.place); });
  }
  budget_ = config_.max_batched_tokens;
  spare_pages_ = account_.available - account_.required;
  prompt_served_ = false;
  limits_time_ = false;
  if (config_.tpot_target_ms > 0.0) {
    work_ = decode_work();
    limits_time_ = work_.tokens > 0;
  }
  for (Member& member : members_) {
    if (member.takes_part && member.place.sequence->starved_steps >= kMaxStarvedSteps && budget_ > 0) give(member, 1);
  }
  switch (policy_.step_order()) {
    case StepOrder::kDecodesFirst:
      give_in_turn(true);
      give_in_turn(false);
      break;
    case StepOrder::kPromptsFirst:
      give_in_turn(false);
      give_in_turn(true);
      break;
    case StepOrder::kAsRanked:
      for (Member& member : members_) {
        if (member.takes_part && budget_ > 0) give(member, member.decoding ? 1 : prompt_share(member));
      }
      break;
  }
  give_drafts();
  give_branches();
  for (const Member& member : members_) {
    if (member.n_tokens > 0)
      plan_->rows.push_back({member.place.sequence, member.n_tokens, member.start, member.branches});
  }
}

}  // namespace millrace::sched
