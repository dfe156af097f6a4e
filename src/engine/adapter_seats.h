#pragma once

#include <vector>

#include "engine/endings.h"
#include "engine/engine_state.h"
#include "engine/time_accounting.h"

namespace millrace::engine {

// Gets waiting requests the adapters that they claim (RequestState::adapter_claim), in the order in which they will be
// admitted. Only those near the front of the line have theirs, or ask for them; an adapter that only requests further
// behind want may leave memory. Engine thread only.
class AdapterSeats {
 public:
  AdapterSeats(EngineState& state, TimeAccounting& accounting, Endings& endings)
      : state_(state), accounting_(accounting), endings_(endings) {}

  // Before a step is planned. Ends those whose adapters cannot be had, with the error of the claim. Sets
  // state.adapters_missing.
  void take(const sched::PolicyView& view, std::vector<Output>& outputs);
  // After Executor::recover(), between steps: has the executor share the adapters of all requests that have theirs.
  // Ends those whose adapters cannot be had any more, with the error of Executor::share().
  void share_again(std::vector<Output>& outputs);

 private:
  bool seat(ActiveSequence& sequence, bool ask, std::vector<Output>& outputs);

  EngineState& state_;
  TimeAccounting& accounting_;
  Endings& endings_;
};

}  // namespace millrace::engine
