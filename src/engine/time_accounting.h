#pragma once

#include <array>

#include "engine/engine_state.h"
#include "engine/launched_step.h"
#include "engine/step_report.h"

namespace millrace::engine {

// The time of a step, and the rates at which its rows share in it.
struct StepTime {
  TimePoint begin{};
  double whole_ms = 0.0;
  double scale = 0.0;                        // of the cost model's time for this step
  double token_ms = 0.0, kv_token_ms = 0.0;  // a row of one token alone, and each position before it
  double prompts_ms = 0.0;                   // what rows of several tokens added
  StepWorkload workload;
};

// Where the time of each answer goes (TimeSpent). The engine's thread.
class TimeAccounting {
 public:
  explicit TimeAccounting(EngineState& state) : state_(state) {}

  // The answer spent its time until `now` in no step. Nothing while a step holds it: the time of a step is accounted
  // for when it ends.
  void settle(ActiveSequence& sequence, TimePoint now);
  // The step that ended at state.step_end, `last_end` the one before it. Before the accounts of its rows.
  StepTime begin_step(const LaunchedStep& step, TimePoint last_end, const StepWorkload& workload);
  void account(const sched::StepRow& row, const StepTime& step);
  // What is in `spent` afterwards is all there is until the account's mark.
  void close(TimeAccount& account) const;

 private:
  // Sums over the steps since the epoch's begin of what the share of a decoding row depends on.
  struct Sums {
    double token_ms = 0.0, kv_token_ms = 0.0;  // of a row of one token alone, and for each position before it
    double kv_token_ms_by_step = 0.0;          // kv_token_ms times the step's number
    double prompts_ms = 0.0;                   // what rows of several tokens added
    double read_bytes = 0.0;
  };
  static constexpr std::int32_t kSteps = 256;  // of an epoch

  StepTime time_of(const LaunchedStep& step, TimePoint last_end, const StepWorkload& workload) const;
  void account_row(const sched::StepRow& row, const StepTime& step);

  EngineState& state_;
  std::int32_t step_ = 0;
  std::array<Sums, kSteps + 1> sums_{};  // [0]: none yet
};

}  // namespace millrace::engine
