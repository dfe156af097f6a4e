#pragma once

#include "engine/engine_state.h"
#include "engine/time_accounting.h"

namespace millrace::engine {

// Preempts sequences and admits them again. Engine thread only.
class Preemptor {
 public:
  Preemptor(EngineState& state, TimeAccounting& accounting) : state_(state), accounting_(accounting) {}

  // Takes the pages of a sequence: swaps them out, if Config::preemption says so or, with kAuto, if twice the measured
  // time of a copy is less than that of computing them again. Else publishes and frees them.
  void preempt(ActiveSequence& sequence);
  // Gives an admitted sequence its swapped pages back, or attaches published pages of its prefix.
  void admit(const sched::Admission& admission);

 private:
  bool swap_out(ActiveSequence& sequence);

  EngineState& state_;
  TimeAccounting& accounting_;
  double swap_ms_per_page_ = 0.1;  // moving average of measured times
};

}  // namespace millrace::engine
