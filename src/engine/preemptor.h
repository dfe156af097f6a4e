#pragma once

#include "engine/engine_state.h"
#include "engine/time_accounting.h"

namespace millrace::engine {

// How sequences lose their place and their pages, and get both (back). The engine's thread.
class Preemptor {
 public:
  Preemptor(EngineState& state, TimeAccounting& accounting) : state_(state), accounting_(accounting) {}

  // Its pages are published and given up, or moved to host memory where that is expected to take less time.
  void preempt(ActiveSequence& sequence);
  // What the plan admits gets the pages that are there of it already: those it was preempted with, or published ones.
  void admit(const sched::Admission& admission);

 private:
  bool swap_out(ActiveSequence& sequence);

  EngineState& state_;
  TimeAccounting& accounting_;
  double swap_ms_per_page_ = 0.1;  // as measured so far
};

}  // namespace millrace::engine
