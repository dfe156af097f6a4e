#pragma once

#include <vector>

#include "engine/engine_state.h"
#include "engine/launched_step.h"
#include "engine/step_report.h"

namespace millrace::engine {

// Reports what each step did to at most one observer. Engine thread only.
class StepReporter {
 public:
  explicit StepReporter(const EngineState& state) : state_(state) {}

  // Sets the observer, which is called on the engine thread at the end of each committed step; empty: none. It must not
  // block. The report is valid during the call.
  void observe(StepObserver observer) { observer_ = std::move(observer); }
  // Sets the function that computes the workload of each step, for reports and TimeSpent. It is called on the engine
  // thread. Must be set before the first step.
  void measure(StepMeasure measure) { measure_ = std::move(measure); }
  // Time that the outputs of the last step took to reach their streams; goes into the next report.
  void note_delivery(double ms) noexcept { delivery_ms_ = ms; }

  // The functions below are for the step loop.
  bool observed() const noexcept { return static_cast<bool>(observer_); }
  // Waiting for the executor begins.
  void note_wait() { wait_start_ = state_.env.now(); }
  // Notes the rows of a step and what they chose, before their sequences can end. Returns the workload of the step; 0
  // if it is not measured.
  StepWorkload note_rows(const LaunchedStep& step, const model::ExpertUse& experts);
  // After note_rows(): how long ranks were at the step. They stay until report().
  void note_ranks(std::span<const model::RankTime> ranks) { noted_.ranks = ranks; }
  void note_prompt(const ActiveSequence& sequence);  // its prompt is computed, and no token was sampled
  // A token was sampled; call before sequence.stats counts it.
  void note_token(const ActiveSequence& sequence);
  void report(const LaunchedStep& step, bool failed);

 private:
  void count_since_last(StepReport& report);
  void look_at_queues(StepReport& report) const;

  const EngineState& state_;
  StepObserver observer_;
  StepMeasure measure_;
  StepReport noted_;  // of the step being committed: rows, and what is counted of them
  EngineCounters reported_;
  std::int64_t reported_evictions_ = 0;
  std::vector<RowReport> row_reports_;
  std::vector<TokenReport> token_reports_;
  std::int64_t prompt_tokens_done_ = 0;
  TimePoint wait_start_{};
  double delivery_ms_ = 0.0;
};

}  // namespace millrace::engine
