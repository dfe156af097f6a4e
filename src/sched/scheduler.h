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

// The mechanism: rows under a token budget, admission while the predicted peak of pages fits, preemption when pages run
// short all the same. The order of everything is the policy's. The oldest sequence always progresses. Engine thread
// only; sequences belong to the caller and outlive their stay. Arrival and id of a sequence stay as they are.
class Scheduler {
 public:
  // The cache outlives it. `resources` limit what runs at once; a test may give others than the generated table.
  Scheduler(const Config& config, std::unique_ptr<SchedulePolicy> policy, const kv::PagedCache& cache,
            std::span<const AdmissionResourceKind> resources = all_resources());
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Why the sequence could not be served even if it were alone: kResourceExhausted naming what it needs and the limit.
  std::optional<Error> never_fits(const Sequence& sequence) const;
  // One that never fits is refused by the next plan.
  void add(Sequence& sequence, const PolicyView& view);

  // The next step. Changes nothing: not the queues, not the pages, not the policy. The second form reuses the plan's
  // memory.
  StepPlan plan(const PolicyView& view) const;
  void plan(const PolicyView& view, StepPlan& plan) const;
  // When an empty plan may become another one although nothing happens: a batch has waited long enough.
  std::optional<TimePoint> next_change() const;

  // The queues become what the plan says, and `scheduled` and in_flight of its rows grow; the caller has done the
  // pages.
  void launched(const StepPlan& plan, const PolicyView& view);
  // The rows' tokens are computed: computed grows. (The caller appends sampled tokens afterwards, and takes drafted
  // ones that were wrong off computed and scheduled.)
  void committed(const StepPlan& plan, const PolicyView& view);
  // One more token of a row was sampled, as drafted: policies count what a sequence got, not what was drafted for it.
  void accepted(Sequence& sequence, const PolicyView& view);
  // The sequence leaves; it must have in_flight == 0.
  void remove(Sequence& sequence);

  std::span<Sequence* const> waiting() const noexcept { return waiting_.by_arrival(); }  // by arrival
  std::span<Sequence* const> running() const noexcept { return running_; }               // by arrival
  std::int64_t waiting_tokens() const noexcept { return waiting_.tokens(); }             // not yet computed
  const SchedulePolicy& policy() const noexcept { return *policy_; }
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
