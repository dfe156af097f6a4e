#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kv/page_needs.h"
#include "kv/paged_cache.h"
#include "sched/place.h"
#include "sched/scheduler_config.h"
#include "sched/step_plan.h"
#include "sched/waiting_queue.h"

namespace millrace::sched {

// The queues and the time that a step is planned from. Everything pointed to outlives the planning of the step.
struct StepInput {
  std::span<Sequence* const> running;  // by arrival
  const WaitingQueue& waiting;
  const PolicyView& view;
  TimePoint last_arrival{};  // of the sequence that was added last
};

// A sequence that runs, or will run from this step on.
struct PlanMember {
  Place place;
  std::int64_t start = 0;     // position of the first token it may compute
  std::int64_t chunk = 0;     // maximum of tokens it may compute in this step; 0 = nothing to compute
  std::int64_t n_tokens = 0;  // tokens it computes in this step; 0 until the token budget is shared
  std::int32_t held = 0;      // pages it holds once it runs
  kv::PageCount first_page;   // available pages it takes to run and compute one token
  bool decoding = false;
  std::size_t branches = 0;  // of its sequence's branches, the first so many are computed
  bool takes_part = false;   // may have a row in this step
  bool stays = true;         // is not preempted by this plan
};

// Pages while a step is planned.
struct PageAccount {
  kv::PageCount available;  // pages that can be handed out, those of the sequences preempted by this plan included
  kv::PageCount required;   // sum of first_page of all members that take part
};

// One step's plan in the making: the value that its stages (find_pages, StepAdmission, share_budget) read and change
// one after the other. Nothing outside it and the StepPlan changes. The memory of its lists is reused from step to
// step. Engine thread only.
struct PlanDraft {
  // All three outlive the draft.
  PlanDraft(const Config& step_limits, const SchedulePolicy& order, const kv::PagedCache& pages_of_all)
      : config(step_limits), policy(order), cache(pages_of_all) {}

  // Begins another step: clears `step_plan`, and makes the running sequences the members. Both arguments are used until
  // the next start(). O(n log n) in the running sequences, O(n) where their order is unchanged.
  void start(const StepInput& step_input, StepPlan& step_plan);

  // Pages that hold so many tokens; the last page may be partly empty.
  std::int64_t pages_of(std::int64_t tokens) const noexcept {
    return (tokens + cache.block_tokens() - 1) / cache.block_tokens();
  }
  // Pages that computing n_tokens takes besides the member's first_page; where layers have a window, as many window
  // pages.
  std::int32_t extra_pages(const PlanMember& member, std::int64_t n_tokens) const;
  // Maximum of tokens of one sequence in a step, where `remaining` are still to be computed.
  std::int64_t longest_chunk(std::int64_t remaining) const noexcept;
  // Work of one token for each member that decodes and takes part. O(members).
  StepWork decode_work() const;
  // True where every member is preempted by this plan, or there is none. O(members), O(1) where the first one stays.
  bool nobody_runs() const noexcept {
    return std::none_of(members.begin(), members.end(), [](const PlanMember& member) { return member.stays; });
  }
  // Whether a waiting sequence could take the place of a running one.
  bool may_preempt() const noexcept { return any_paused || policy.preempts(); }
  // Which members may be preempted: never the oldest that can compute something. One with a step in flight keeps its
  // pages until that is committed; held back from further steps, it may be preempted by the next plan.
  enum class Victims { kNow, kAfterStepsInFlight };
  bool may_be_victim(const PlanMember& member, Victims victims = Victims::kNow) const noexcept {
    const bool in_flight = member.place.sequence->in_flight > 0;
    return member.stays && member.place.sequence != oldest && (!in_flight || victims == Victims::kAfterStepsInFlight);
  }
  // Pages that preempting the member makes available.
  kv::PageCount gain(const PlanMember& member) const {
    return kv::releasable(cache, member.place.sequence->blocks) +
           (member.takes_part ? member.first_page : kv::PageCount());
  }

  // Counts the member as preempted. The caller also adds its sequence to plan->preempted.
  void take_out(PlanMember& member);
  // Undoes take_out() of a member whose pages were not short.
  void put_back(PlanMember& member);
  // Leaves the member out of this step, and lets it keep its pages.
  void hold_back(PlanMember& member);
  // Adds an admitted sequence to the members and to plan->admitted.
  void join(const PlanMember& member, kv::PrefixMatch match);
  void sort_members();  // in the policy's order

  const Config& config;
  const SchedulePolicy& policy;
  const kv::PagedCache& cache;
  const StepInput* input = nullptr;  // the caller's; null until the first start()
  StepPlan* plan = nullptr;          // the caller's; null until the first start()

  std::vector<PlanMember> members;   // in the policy's order; those admitted are last until sort_members()
  const Sequence* oldest = nullptr;  // the running sequence that arrived first and is neither paused nor blocked
  PageAccount pages;
  bool any_paused = false;     // a running sequence's reader is slow
  bool any_in_flight = false;  // a running sequence takes part in a step that is not committed
  bool pages_short = false;    // the running sequences alone need more pages than are available
};

}  // namespace millrace::sched
