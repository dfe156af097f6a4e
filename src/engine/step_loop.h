#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "engine/adapter_seats.h"
#include "engine/beam_groups.h"
#include "engine/endings.h"
#include "engine/engine_state.h"
#include "engine/launched_step.h"
#include "engine/preemptor.h"
#include "engine/row_sampler.h"
#include "engine/step_reporter.h"
#include "engine/time_accounting.h"

namespace millrace::engine {

// Steps of all requests together: planned, launched, waited for, committed. The engine's thread.
class StepLoop {
 public:
  explicit StepLoop(EngineState& state);
  ~StepLoop();  // waits for what is launched

  // Launches as many steps as the executor holds, waits for the oldest and commits it. False: nothing was computed, as
  // no request is there, or all wait for something (a full batch, a paused reader). Throws model::DamagedWeights; then
  // nothing can be computed any more.
  bool step(std::vector<Output>& outputs);
  // Waits for all that is launched and commits it, and launches nothing.
  void finish_launched(std::vector<Output>& outputs);
  bool idle() const noexcept { return launched_.empty(); }  // no step is launched
  StepReporter& reporter() noexcept { return reporter_; }
  TimeAccounting& accounting() noexcept { return accounting_; }
  void collect(std::vector<const kv::BlockTable*>& tables) const;  // of branches, while they are computed

 private:
  // Where the next row's logits begin, its token, and its branches.
  struct Place {
    std::int64_t logit_row = 0;
    std::size_t sampled = 0;  // of the rows that the executor sampled
    std::span<BranchRows> branches;
  };

  bool launch(std::vector<Output>& outputs);
  void finish_oldest(std::vector<Output>& outputs);
  sched::StepPlan plan_with_capacity(const sched::PolicyView& view);
  bool starves(const sched::Sequence& sequence) const;
  void take_pages(sched::StepPlan& plan);
  bool feeds(const ActiveSequence& sequence) const;
  void reject(const sched::StepPlan& plan, std::vector<Output>& outputs);
  void draft(const sched::PolicyView& view);
  bool reserve_for_drafts(ActiveSequence& sequence);

  void commit(LaunchedStep step, const Result<StepResult>& result, std::vector<Output>& outputs);
  void learn_cost(const LaunchedStep& step);
  void note_weight_rounds(std::int64_t rounds);
  void commit_row(const LaunchedStep& step, const sched::StepRow& row, const StepResult& result, Place& place,
                  std::vector<Output>& outputs);
  void fail_row(const sched::StepRow& row, const Error& error, std::vector<Output>& outputs);
  void lose(LaunchedStep step, const Result<StepResult>& result, std::vector<Output>& outputs);
  // Whether the device works again, and everything that the steps were about is to be computed again.
  bool recover(std::deque<LaunchedStep>& lost, const Error& error);
  void forget_pages();
  void forget_kept();
  static void uncount(const sched::StepRow& row);

  EngineState& state_;
  StepReporter reporter_{state_};
  TimeAccounting accounting_{state_};
  Endings endings_{state_, accounting_};
  BeamGroups beams_{state_, accounting_, reporter_, endings_};
  RowSampler sampler_{state_, reporter_, endings_, beams_};
  Preemptor preemptor_{state_, accounting_};
  AdapterSeats seats_{state_, accounting_, endings_};
  std::deque<LaunchedStep> launched_;
  std::uint64_t launches_ = 0;      // so far
  int failures_ = 0;                // steps that failed, since one has not
  bool after_pause_ = true;         // the last step() computed nothing
  std::int64_t weight_rounds_ = 0;  // StepResult::weight_rounds of the last step
};

}  // namespace millrace::engine
