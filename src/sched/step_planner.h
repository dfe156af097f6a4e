#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kv/paged_cache.h"
#include "sched/admission.h"
#include "sched/place.h"
#include "sched/scheduler_config.h"
#include "sched/step_plan.h"
#include "sched/waiting_queue.h"

namespace millrace::sched {

// Steps in a row that may leave a running sequence out; then it gets a token before all others.
inline constexpr std::int32_t kMaxStarvedSteps = 16;

// What there is when a step is planned.
struct StepInput {
  std::span<Sequence* const> running;  // by arrival
  const WaitingQueue& waiting;
  const PolicyView& view;
  TimePoint last_arrival{};
};

// One step's plan. Pure: the same queues, pages and view give the same plan; what it keeps from call to call is memory.
// Three stages: pages for what runs, at the cost of the last in line where they are short; admission of what waits; the
// token budget, in the policy's order; what is left of it is for draft tokens.
class StepPlanner {
 public:
  StepPlanner(const Config& config, const SchedulePolicy& policy, const kv::PagedCache& cache);

  std::int64_t slots() const noexcept { return slots_; }  // sequences that may run at once
  void plan(const StepInput& input, StepPlan& plan);

 private:
  // A sequence that runs, or will with this step.
  struct Member {
    Place place;
    std::int64_t start = 0;       // position of the first token it may compute
    std::int64_t chunk = 0;       // tokens it may compute in one step; 0 = nothing to do
    std::int64_t n_tokens = 0;    // and what it computes in this one
    std::int32_t held = 0;        // pages it holds once it runs
    std::int32_t first_page = 0;  // pages it takes from the available ones to run and compute one token
    bool decoding = false;
    std::size_t branches = 0;  // computed besides its drafts
    bool takes_part = false;   // may have a row
    bool stays = true;         // is not preempted
  };
  // What trying to make room changes.
  struct Account {
    std::int32_t available = 0;  // pages, those of the preempted included
    std::int32_t required = 0;   // first_page of all that take part
    std::int32_t reserved = 0;   // and what the admitted need besides for their next chunk
    std::int64_t free_slots = 0;
  };

  // step_planner.cc
  void gather();
  void find_pages();
  std::optional<std::size_t> page_victim() const;
  bool take_leased_pages();
  bool take_pages_leased_together();
  bool may_be_victim(const Member& member) const;
  std::int32_t gain(const Member& member) const;
  void take_out(Member& member);
  std::int64_t pages_of(std::int64_t tokens) const noexcept;
  std::int32_t extra_pages(const Member& member, std::int64_t n_tokens) const;
  std::int64_t longest_chunk(std::int64_t remaining) const noexcept;
  void share_budget();
  void give(Member& member, std::int64_t n_tokens);
  void give_in_turn(bool decoding);
  void give_drafts();
  void give_branches();
  std::int64_t prompt_share(const Member& member) const;
  std::int64_t within_pages(const Member& member, std::int64_t n_tokens) const;
  StepWork decode_work() const;

  // step_admission.cc
  void reject_late();
  void admit();
  bool may_start_batch() const;
  std::int64_t prompt_room() const;
  std::int64_t tokens_ahead(const Place& place) const;
  void line_up();
  void line_up_all();
  Sequence* next_in_line(Place& place);
  bool may_pass(const Sequence& sequence) const;
  bool nobody_runs() const;
  void admit_anyone();
  bool try_to_admit(const Place& place);
  Member joining(const Place& place);
  bool fits(const Member& joining, const PeakDemand& demand);
  bool make_room(const Member& joining, const PeakDemand& demand);
  void build_estimate();
  PeakDemand demand_of(const Sequence& sequence, std::int64_t attached_pages) const;

  const Config& config_;
  const SchedulePolicy& policy_;
  const kv::PagedCache& cache_;
  std::int64_t slots_;

  // State of the plan being made.
  const StepInput* input_ = nullptr;
  StepPlan* plan_ = nullptr;
  std::vector<Member> members_;  // in the policy's order; those admitted last until the budget is shared
  const Sequence* oldest_ = nullptr;
  Account account_;
  bool pages_short_ = false, paused_ones_ = false;
  std::int64_t budget_ = 0;
  std::int32_t spare_pages_ = 0;
  StepWork work_;  // of the rows so far, and of all that decode
  bool limits_time_ = false, prompt_served_ = false;

  std::vector<Place> line_;         // the first of those waiting, or all, where ranks change
  std::vector<Sequence*> overdue_;  // bypassed too often, by arrival
  std::size_t next_overdue_ = 0, next_place_ = 0;
  kv::PrefixMatch match_;  // of the one being tried
  PeakEstimate estimate_;
  std::vector<PeakDemand> demands_;
  std::vector<std::size_t> victims_;
  bool estimated_ = false;
  std::int64_t capacity_pages_ = 0;  // what the peak may reach
};

}  // namespace millrace::sched
