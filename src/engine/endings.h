#pragma once

#include <vector>

#include "engine/engine_state.h"
#include "engine/time_accounting.h"

namespace millrace::engine {

// Ends answers: writes the final output, then publishes the pages, returns them to the session, or frees them. Engine
// thread only.
class Endings {
 public:
  Endings(EngineState& state, TimeAccounting& accounting) : state_(state), accounting_(accounting) {}

  // Ends the requests that were cancelled and those whose deadline has passed.
  void end_overdue(std::vector<Output>& outputs);
  // Ends all answers of the request that are in flight; does nothing for a request that has ended.
  void end_request(RequestId id, FinishReason reason, std::vector<Output>& outputs, const Error* error = nullptr);
  // Ends the answer. `output` may hold its last token. Destroys the sequence; while a launched step holds it, the end
  // and `output` are kept until end_retired().
  void end(ActiveSequence& sequence, FinishReason reason, Output output, std::vector<Output>& outputs);
  // end() with kError. Counts errors of kind kInternal as numerical errors.
  void fail(ActiveSequence& sequence, Error error, std::vector<Output>& outputs);
  // Ends the answers whose end was kept back and whose sequence no launched step holds any more.
  void end_retired(std::vector<Output>& outputs);

 private:
  void retire(ActiveSequence& sequence, FinishReason reason, Output output);
  void give_back_pages(ActiveSequence& sequence, const RequestState& flight, bool trusted);

  EngineState& state_;
  TimeAccounting& accounting_;
  std::vector<ActiveSequence*> retiring_;
};

}  // namespace millrace::engine
