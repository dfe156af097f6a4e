#pragma once

#include <vector>

#include "engine/engine_state.h"
#include "engine/launched_step.h"
#include "engine/step_report.h"

namespace millrace::engine {

// Reports each committed step to at most one observer. Engine thread only.
class StepReporter {
 public:
  explicit StepReporter(const EngineState& state) : state_(state) {}

  // Sets the observer; an empty function removes it. It is called on the engine thread at the end of each committed
  // step, and must not block.
  void observe(StepObserver observer) { observer_ = std::move(observer); }
  // Sets the function that computes a step's bytes and operations, for reports and TimeSpent. Call it before the first
  // step. The function is called on the engine thread after each step.
  void measure(StepMeasure measure) { measure_ = std::move(measure); }
  // Milliseconds that it took to deliver the last step's outputs; part of the next report.
  void note_delivery(double ms) noexcept { delivery_ms_ = ms; }

  // The functions below are for StepLoop.
  bool observed() const noexcept { return static_cast<bool>(observer_); }
  void note_wait() { wait_start_ = state_.env.now(); }
  // Call it before any sequence of the step ends. Returns the step's workload, zeros without a measure function.
  StepWorkload note_rows(const LaunchedStep& step);
  void note_prompt(const ActiveSequence& sequence);  // the whole prompt is computed
  void note_token(const ActiveSequence& sequence);   // a token was sampled; call it before count_token()
  void report(const LaunchedStep& step, bool failed);

 private:
  void count_since_last(StepReport& report);
  void look_at_queues(StepReport& report) const;

  const EngineState& state_;
  StepObserver observer_;
  StepMeasure measure_;
  StepReport noted_;  // of the step being committed: rows, and the counts that follow from them
  EngineCounters reported_;
  std::int64_t reported_evictions_ = 0;
  std::vector<RowReport> row_reports_;
  std::vector<TokenReport> token_reports_;
  std::int64_t prompt_tokens_done_ = 0;
  TimePoint wait_start_{};
  double delivery_ms_ = 0.0;
};

}  // namespace millrace::engine
