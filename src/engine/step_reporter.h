#pragma once

#include <vector>

#include "engine/engine_state.h"
#include "engine/launched_step.h"
#include "engine/step_report.h"

namespace millrace::engine {

// Says what each step did, to at most one observer. The engine's thread.
class StepReporter {
 public:
  explicit StepReporter(const EngineState& state) : state_(state) {}

  // Called at the end of each committed step, on the engine's thread; must not block. One observer; empty: none.
  void observe(StepObserver observer) { observer_ = std::move(observer); }
  // Asked after each step what it had to do, for reports and TimeSpent, on the engine's thread. Before the first step.
  void measure(StepMeasure measure) { measure_ = std::move(measure); }
  // How long the outputs of the last step took to hand on: for the next report.
  void note_delivery(double ms) noexcept { delivery_ms_ = ms; }

  // The rest is for the step loop.
  bool observed() const noexcept { return static_cast<bool>(observer_); }
  void note_wait() { wait_start_ = state_.env.now(); }
  // Before the rows' sequences can end. Returns what the step had to do; zero where that is not measured.
  StepWorkload note_rows(const LaunchedStep& step);
  void note_prompt(const ActiveSequence& sequence);  // it is computed
  void note_token(const ActiveSequence& sequence);   // the next one was sampled, and is not counted yet
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
