#pragma once

#include <vector>

#include "engine/engine_state.h"
#include "engine/time_accounting.h"

namespace millrace::engine {

// How answers end: with a last output, their pages given back, published or leased back to their session. The engine's
// thread.
class Endings {
 public:
  Endings(EngineState& state, TimeAccounting& accounting) : state_(state), accounting_(accounting) {}

  // Requests that were cancelled or whose time is up.
  void end_overdue(std::vector<Output>& outputs);
  // All answers of the request that have not ended; nothing for one that has.
  void end_request(RequestId id, FinishReason reason, std::vector<Output>& outputs, const Error* error = nullptr);
  // `output` may hold its last token. At once, or when no launched step holds the sequence any more: see end_retired().
  void end(ActiveSequence& sequence, FinishReason reason, Output output, std::vector<Output>& outputs);
  void fail(ActiveSequence& sequence, Error error, std::vector<Output>& outputs);
  // Those that a launched step held, as far as none does now.
  void end_retired(std::vector<Output>& outputs);

 private:
  void retire(ActiveSequence& sequence, FinishReason reason, Output output);
  void give_back_pages(ActiveSequence& sequence, const RequestState& flight, bool trusted);

  EngineState& state_;
  TimeAccounting& accounting_;
  std::vector<ActiveSequence*> retiring_;
};

}  // namespace millrace::engine
