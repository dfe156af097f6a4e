#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kv/paged_cache.h"
#include "sched/admission_resource.h"
#include "sched/schedule_policy.h"
#include "sched/scheduler_config.h"
#include "sched/step_plan.h"
#include "sched/step_planner.h"
#include "sched/waiting_queue.h"

namespace millrace::sched {

// Decides what each step computes: rows under a token budget, admission while all resources suffice, preemption where
// pages run short all the same. The policy gives the order of everything. The oldest sequence that can compute
// something always progresses. Engine thread only. Sequences belong to the caller and must outlive their stay; their
// arrival and id must not change.
class Scheduler {
 public:
  // The cache must outlive the scheduler. `resources` limit what runs at once.
  Scheduler(const Config& config, std::unique_ptr<SchedulePolicy> policy, const kv::PagedCache& cache,
            std::span<const AdmissionResourceKind> resources = all_resources());
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Why the sequence could not be served even if it were alone: kResourceExhausted naming what it needs and the limit.
  std::optional<Error> never_fits(const Sequence& sequence) const;
  // Adds a waiting sequence. If it never fits, the next plan rejects it.
  void add(Sequence& sequence, const PolicyView& view);

  // Plans the next step. Changes nothing: neither the queues, nor the pages, nor the policy. The second form reuses the
  // plan's memory.
  StepPlan plan(const PolicyView& view) const;
  void plan(const PolicyView& view, StepPlan& plan) const;
  // The time at which plan() may return rows after an empty plan although no event happens: when a batch has waited
  // batch_wait_ms. Nothing for continuous batching.
  std::optional<TimePoint> next_change() const;

  // Moves the sequences between the queues as the plan says, and counts its rows as in flight (`scheduled`,
  // `in_flight`). The caller has moved and reserved the pages before.
  void launched(const StepPlan& plan, const PolicyView& view);
  // Counts the rows' tokens as computed. Afterwards the caller appends sampled tokens, and subtracts rejected draft
  // tokens from `computed` and `scheduled`.
  void committed(const StepPlan& plan, const PolicyView& view);
  // Tells the policy that one more draft token of the sequence was accepted. committed() counts only the tokens that
  // are no drafts.
  void accepted(Sequence& sequence, const PolicyView& view);
  // Takes the sequence out of all queues. Its in_flight must be 0.
  void remove(Sequence& sequence);

  // The first waiting sequences in the order in which admission tries them, at most `limit`; without those whose
  // readers are slow. O(n log limit) in the waiting ones.
  std::vector<Sequence*> first_in_line(const PolicyView& view, std::size_t limit) const;

  std::span<Sequence* const> waiting() const noexcept { return waiting_.by_arrival(); }  // by arrival
  std::span<Sequence* const> running() const noexcept { return running_; }               // by arrival
  std::int64_t waiting_tokens() const noexcept { return waiting_.tokens(); }             // tokens not yet computed
  const SchedulePolicy& policy() const noexcept { return *policy_; }
  // Walks everything and CHECKs it. For tests and the simulator.
  void check_integrity() const;

 private:
  PolicyView complete(const PolicyView& view) const noexcept;
  void insert_running(Sequence& sequence);
  void refresh_hints();
  void look_up(Sequence& sequence) const;

  Config config_;
  std::unique_ptr<SchedulePolicy> policy_;
  const kv::PagedCache& cache_;
  WaitingQueue waiting_;
  std::vector<Sequence*> running_;   // by arrival
  std::vector<Sequence*> rejected_;  // can never fit; until the caller removes them
  std::size_t next_hint_ = 0;        // of waiting_, whose cached_hint is looked up next
  TimePoint last_arrival_{};
  mutable StepPlanner planner_;  // const but for its scratch memory
};

}  // namespace millrace::sched
