#pragma once

#include <array>

#include "engine/engine_state.h"
#include "engine/launched_step.h"
#include "engine/step_report.h"

namespace millrace::engine {

// The time of a step, and how it is divided among its rows.
struct StepTime {
  TimePoint begin{};
  double whole_ms = 0.0;
  double scale = 0.0;                        // measured time divided by the cost model's time
  double token_ms = 0.0, kv_token_ms = 0.0;  // time of a row of one token alone, and of each position before it
  double prompts_ms = 0.0;                   // time that rows of several tokens added
  StepWorkload workload;
  model::ExpertUse experts;
};

// Divides the time of each answer into the parts of TimeSpent. Engine thread only.
class TimeAccounting {
 public:
  explicit TimeAccounting(EngineState& state) : state_(state) {}

  // Accounts the time until `now`, which the answer spent in no step. No effect while a step holds the answer: the time
  // of a step is accounted at its end. Must be called before the state of the answer changes.
  void settle(ActiveSequence& sequence, TimePoint now);
  // Begins the accounting of the step that ended at state.step_end; the previous one ended at `last_end`. Then
  // account() must be called for each of its rows.
  StepTime begin_step(const LaunchedStep& step, TimePoint last_end, const StepWorkload& workload,
                      const model::ExpertUse& experts);
  void account(const sched::StepRow& row, const StepTime& step);
  // Adds the open streak to `spent`, which then has all time until the mark.
  void close(TimeAccount& account) const;

 private:
  // Sums over the steps of an epoch, from which the time of a streak is computed.
  struct Sums {
    double token_ms = 0.0, kv_token_ms = 0.0;  // StepTime::token_ms and kv_token_ms
    double kv_token_ms_by_step = 0.0;          // kv_token_ms times the step's number
    double prompts_ms = 0.0;                   // StepTime::prompts_ms
    double read_bytes = 0.0;
    model::ExpertUse experts;
  };
  static constexpr std::int32_t kSteps = 256;  // steps of an epoch

  StepTime time_of(const LaunchedStep& step, TimePoint last_end, const StepWorkload& workload) const;
  void account_row(const sched::StepRow& row, const StepTime& step);

  EngineState& state_;
  std::int32_t step_ = 0;
  std::array<Sums, kSteps + 1> sums_{};  // after each step; [0]: all 0
};

}  // namespace millrace::engine
