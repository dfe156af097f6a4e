#include "sched/page_shortage.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace millrace::sched {
namespace {

// The last in the policy's order; before it those whose readers are slow, and after it, only where there is no other,
// those that were preempted too often already.
// `coming` pages are on their way.
std::optional<std::size_t> page_victim(const PlanDraft& draft, PlanDraft::Victims victims, kv::PageCount coming = {}) {
  const kv::PageCount available = draft.pages.available + coming;
  for (const bool spared : {true, false}) {
    for (const bool paused : {true, false}) {
      for (std::size_t i = draft.members.size(); i-- > 0;) {
        const PlanMember& member = draft.members[i];
        const Sequence& sequence = *member.place.sequence;
        if (victims == PlanDraft::Victims::kAfterStepsInFlight && !member.takes_part) continue;
        if (sequence.paused != paused || (spared && sequence.preemptions >= draft.config.max_preemptions)) continue;
        const bool helps = draft.gain(member).relieves(draft.pages.required, available);
        if (draft.may_be_victim(member, victims) && helps) return i;
      }
    }
  }
  return std::nullopt;
}

// Sessions forked from one lease the same pages, of which none would free any alone.
bool take_pages_leased_together(PlanDraft& draft) {
  const kv::PagedCache& cache = draft.cache;
  auto& taken = draft.plan->preempted;
  std::vector<Sequence*> leases;
  for (Sequence* sequence : draft.input->waiting.by_arrival()) {
    if (std::find(taken.begin(), taken.end(), sequence) == taken.end()) leases.push_back(sequence);
  }
  std::vector<kv::PageCount> held(static_cast<std::size_t>(cache.total_pages()));  // by page: leases that hold it
  const auto count_held = [&] {
    std::fill(held.begin(), held.end(), kv::PageCount());
    for (const Sequence* sequence : leases) {
      const auto pages = sequence->blocks.blocks();
      for (std::size_t i = 0; i < pages.size(); ++i) {
        held[static_cast<std::size_t>(pages[i])] +=
            {.pages = 1, .window = cache.window() != nullptr && i >= sequence->blocks.behind() ? 1 : 0};
      }
    }
  };
  const auto freed = [&](kv::BlockId page) -> kv::PageCount {
    const kv::PageCount& leased = held[static_cast<std::size_t>(page)];
    return {.pages = leased.pages > 0 && cache.holders(page) == leased.pages ? 1 : 0,
            .window = leased.window > 0 && cache.window()->holders(page) == leased.window ? 1 : 0};
  };
  const auto only_theirs = [&](kv::BlockId page) { return freed(page).any(); };
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
    for (kv::BlockId one = 0; one < cache.total_pages(); ++one) draft.pages.available += freed(one);
    taken.insert(taken.end(), leases.rbegin(), leases.rend());
    return true;
  }
  return false;
}

}  // namespace

// A session's pages may be computed again; the last to arrive loses them first.
bool take_leased_pages(PlanDraft& draft) {
  const auto waiting = draft.input->waiting.by_arrival();
  for (std::size_t i = waiting.size(); i-- > 0;) {
    Sequence* sequence = waiting[i];
    const kv::PageCount pages = kv::releasable(draft.cache, sequence->blocks);
    auto& taken = draft.plan->preempted;
    if (!pages.any() || std::find(taken.begin(), taken.end(), sequence) != taken.end()) continue;
    draft.pages.available += pages;
    taken.push_back(sequence);
    return true;
  }
  return take_pages_leased_together(draft);
}

void find_pages(PlanDraft& draft) {
  PageAccount& pages = draft.pages;
  while (!pages.required.fits_in(pages.available)) {
    draft.pages_short = true;
    const auto victim = page_victim(draft, PlanDraft::Victims::kNow);
    if (!victim) {
      if (!take_leased_pages(draft)) break;
      continue;
    }
    draft.take_out(draft.members[*victim]);
    draft.plan->preempted.push_back(draft.members[*victim].place.sequence);
  }
  // No other can be preempted now. Sequences that feed are always in flight: some stay out of this step, so that the
  // next plan may preempt them.
  kv::PageCount coming;
  while (!pages.required.fits_in(pages.available + coming)) {
    const auto victim = page_victim(draft, PlanDraft::Victims::kAfterStepsInFlight, coming);
    if (!victim) break;
    PlanMember& member = draft.members[*victim];
    draft.hold_back(member);
    coming += kv::releasable(draft.cache, member.place.sequence->blocks);
  }
  // The last ones have to wait for steps in flight; the oldest comes last of all.
  for (const bool all : {false, true}) {
    for (std::size_t i = draft.members.size(); i-- > 0 && !pages.required.fits_in(pages.available);) {
      PlanMember& member = draft.members[i];
      if (!member.takes_part || !member.first_page.any() || (!all && member.place.sequence == draft.oldest)) continue;
      draft.hold_back(member);
    }
  }
}

}  // namespace millrace::sched
