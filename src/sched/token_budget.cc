#include "sched/token_budget.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace millrace::sched {
namespace {

// What is left while one step's tokens are shared.
class TokenBudget {
 public:
  explicit TokenBudget(PlanDraft& draft);
  void give_starved();
  void give_in_order();
  void give_drafts();
  void give_branches();

 private:
  // Pages, each with its window page.
  static std::int32_t spare_of(const PlanDraft& draft) {
    const kv::PageCount spare = draft.pages.available - draft.pages.required;
    return draft.cache.window() != nullptr ? std::min(spare.pages, spare.window) : spare.pages;
  }
  void give(PlanMember& member, std::int64_t n_tokens);
  void give_in_turn(bool decoding);
  bool may_decode(const PlanMember& member) const noexcept { return member.n_tokens > 0 || decoding_rows_ > 0; }
  std::int64_t prompt_share(const PlanMember& member) const;
  std::int64_t within_pages(const PlanMember& member, std::int64_t n_tokens) const;

  PlanDraft& draft_;
  std::int64_t tokens_;
  std::int32_t spare_pages_;
  StepWork work_;  // of all members that decode, and of the prompt tokens given so far
  bool limits_time_ = false, prompt_served_ = false;
  std::int64_t decoding_rows_ = std::numeric_limits<std::int64_t>::max();  // that the step may have yet
};

// Of the sequences that decode, in this step or in one that is being computed, as many as each stage gets.
std::int64_t rows_of_stage(const PlanDraft& draft) {
  const auto decodes = [](const PlanMember& member) {
    const Sequence& sequence = *member.place.sequence;
    return member.decoding || (sequence.in_flight > 0 && sequence.scheduled >= sequence.prompt_tokens);
  };
  const std::int64_t all = std::ranges::count_if(draft.members, decodes);
  return (all + draft.config.stages - 1) / draft.config.stages;
}

TokenBudget::TokenBudget(PlanDraft& draft)
    : draft_(draft), tokens_(draft.config.max_batched_tokens), spare_pages_(spare_of(draft)) {
  if (draft.config.stages > 1) decoding_rows_ = rows_of_stage(draft);
  if (draft.config.tpot_target_ms <= 0.0) return;
  work_ = draft.decode_work();
  limits_time_ = work_.tokens > 0;
}

void TokenBudget::give(PlanMember& member, std::int64_t n_tokens) {
  if (n_tokens <= member.n_tokens || (member.decoding && !may_decode(member))) return;
  if (member.decoding && member.n_tokens == 0) --decoding_rows_;
  tokens_ -= n_tokens - member.n_tokens;
  spare_pages_ -=
      draft_.extra_pages(member, n_tokens) - draft_.extra_pages(member, std::max<std::int64_t>(1, member.n_tokens));
  if (!member.decoding) {
    work_.add(n_tokens - member.n_tokens, member.start + member.n_tokens);
    prompt_served_ = true;
  }
  member.n_tokens = n_tokens;
}

// Of n tokens, those that its pages and the spare ones hold.
std::int64_t TokenBudget::within_pages(const PlanMember& member, std::int64_t n_tokens) const {
  const std::int64_t block_tokens = draft_.cache.block_tokens();
  const std::int64_t first_pages = std::max<std::int64_t>(draft_.pages_of(member.start + 1), member.held);
  const std::int64_t capacity = (first_pages + spare_pages_) * block_tokens - member.start;
  const std::int64_t limit = std::min(n_tokens, capacity);
  if (draft_.extra_pages(member, limit) <= spare_pages_) return limit;
  return std::min(limit, draft_.pages_of(member.start + 1) * block_tokens - member.start);
}

// Tokens of a prompt that budget, pages and time have left.
std::int64_t TokenBudget::prompt_share(const PlanMember& member) const {
  const std::int64_t limit = within_pages(member, std::min(member.chunk, tokens_ + member.n_tokens));
  if (!limits_time_ || limit <= member.n_tokens) return limit;
  const std::int64_t in_time =
      member.n_tokens + draft_.input->view.cost.tokens_within(draft_.config.tpot_target_ms, work_,
                                                              member.start + member.n_tokens, limit - member.n_tokens);
  return in_time == 0 && !prompt_served_ ? 1 : in_time;
}

void TokenBudget::give_starved() {
  for (PlanMember& member : draft_.members) {
    const bool starved = member.place.sequence->starved_steps >= kMaxStarvedSteps;
    if (member.takes_part && starved && tokens_ > 0) give(member, 1);
  }
}

void TokenBudget::give_in_turn(bool decoding) {
  for (PlanMember& member : draft_.members) {
    if (tokens_ == 0) return;
    if (member.takes_part && member.decoding == decoding) give(member, decoding ? 1 : prompt_share(member));
  }
}

void TokenBudget::give_in_order() {
  if (draft_.config.stages > 1) {  // who had no row in the step before comes first
    for (PlanMember& member : draft_.members) {
      const bool left_out = member.decoding && member.place.sequence->starved_steps > 0;
      if (member.takes_part && left_out && tokens_ > 0) give(member, 1);
    }
  }
  switch (draft_.policy.step_order()) {
    case StepOrder::kDecodesFirst:
      give_in_turn(true);
      give_in_turn(false);
      break;
    case StepOrder::kPromptsFirst:
      give_in_turn(false);
      give_in_turn(true);
      break;
    case StepOrder::kAsRanked:
      for (PlanMember& member : draft_.members) {
        if (member.takes_part && tokens_ > 0) give(member, member.decoding ? 1 : prompt_share(member));
      }
      break;
  }
}

void TokenBudget::give_drafts() {
  for (PlanMember& member : draft_.members) {
    const auto drafts = static_cast<std::int64_t>(member.place.sequence->drafts.size());
    if (drafts == 0 || !member.decoding || member.n_tokens == 0) continue;
    give(member, within_pages(member, std::min(1 + drafts, tokens_ + 1)));
  }
}

// Whole ones only, and only for sequences all of whose drafts are computed. The pages go back with the step.
void TokenBudget::give_branches() {
  for (PlanMember& member : draft_.members) {
    const Sequence& sequence = *member.place.sequence;
    if (!member.decoding || member.n_tokens != 1 + std::ssize(sequence.drafts)) continue;
    for (const auto& branch : sequence.branches) {
      const std::int64_t tokens = 1 + std::ssize(branch);
      const auto pages = static_cast<std::int32_t>(draft_.pages_of(member.start + tokens) -
                                                   member.start / draft_.cache.block_tokens());
      if (tokens > tokens_ || pages > spare_pages_) break;
      tokens_ -= tokens;
      spare_pages_ -= pages;
      ++member.branches;
    }
  }
}

}  // namespace

void share_budget(PlanDraft& draft) {
  if (!draft.plan->admitted.empty()) draft.sort_members();
  TokenBudget budget(draft);
  budget.give_starved();
  budget.give_in_order();
  budget.give_drafts();
  budget.give_branches();
  for (const PlanMember& member : draft.members) {
    if (member.n_tokens == 0) continue;
    Sequence* sequence = member.place.sequence;
    draft.plan->rows.push_back({.sequence = sequence,
                                .n_tokens = member.n_tokens,
                                .first = member.start,
                                .branches = member.branches,
                                .length = sequence->planned_length()});
  }
}

}  // namespace millrace::sched
