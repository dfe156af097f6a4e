#pragma once

#include "engine/engine_state.h"
#include "engine/time_accounting.h"

namespace millrace::engine {

// Takes pages from preempted sequences, and gives admitted ones their pages. Engine thread only.
class Preemptor {
 public:
  Preemptor(EngineState& state, TimeAccounting& accounting) : state_(state), accounting_(accounting) {}

  // Publishes and frees the sequence's pages, or moves them to host memory where Config::preemption says so or the
  // measured times say that this is faster.
  void preempt(ActiveSequence& sequence);
  // Gives the admitted sequence its pages from host memory if it was swapped out, else those that its prefix match
  // found. `computed` and `scheduled` are set accordingly.
  void admit(const sched::Admission& admission);

 private:
  bool swap_out(ActiveSequence& sequence);

  EngineState& state_;
  TimeAccounting& accounting_;
  double swap_ms_per_page_ = 0.1;  // as measured so far
};

}  // namespace millrace::engine
