#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kv/paged_cache.h"
#include "sched/schedule_policy.h"
#include "sched/step_plan.h"

namespace millrace::sched {

// When requests may join: at any step (ORCA, OSDI 22); when the batch before has ended, with what waits then; or only a
// full batch, which waits for its last request.
enum class BatchingMode { kContinuous, kDynamic, kStatic };

// Limits of a step.
struct Config {
  std::int64_t max_batched_tokens = 512;  // tokens of a step, prefill chunks and decode tokens together
  std::int64_t max_sequences = 64;        // running at once
  std::int64_t long_prefill_tokens = 0;   // most tokens of one prompt in a step; 0 = no limit but the budget
  double tpot_target_ms = 0.0;  // the budget shrinks so that a step with decoding rows takes no longer; 0 = off
  BatchingMode batching = BatchingMode::kContinuous;
  double batch_wait_ms = 50.0;        // dynamic and static: how long a batch waits to become full
  std::int32_t most_overtaken = 64;   // then nobody may pass a waiting sequence any more
  std::int32_t most_preemptions = 4;  // then a sequence is not preempted again while there is another
};

// The mechanism: rows under a token budget, admission while the predicted peak of pages fits, preemption when pages run
// short all the same. The order of everything is the policy's. The oldest sequence always progresses. Engine thread
// only; sequences belong to the caller and outlive their stay.
class Scheduler {
 public:
  Scheduler(const Config& config, std::unique_ptr<SchedulePolicy> policy, const kv::PagedCache& cache);

  void add(Sequence& sequence, const PolicyView& view);
  // The next step. Changes nothing: not the queues, not the pages, not the policy.
  StepPlan plan(const PolicyView& view) const;
  // The queues become what the plan says, and `scheduled` and in_flight of its rows grow; the caller has done the
  // pages.
  void launched(const StepPlan& plan, const PolicyView& view);
  // The rows' tokens are computed: computed grows. (The caller appends drawn tokens afterwards.)
  void committed(const StepPlan& plan, const PolicyView& view);
  // The sequence leaves; it must have in_flight == 0.
  void remove(Sequence& sequence);

  std::span<Sequence* const> waiting() const noexcept { return waiting_; }
  std::span<Sequence* const> running() const noexcept { return running_; }
  void check_integrity() const;

 private:
  Config config_;
  std::unique_ptr<SchedulePolicy> policy_;
  const kv::PagedCache& cache_;
  std::vector<Sequence*> waiting_, running_;
};

}  // namespace millrace::sched
