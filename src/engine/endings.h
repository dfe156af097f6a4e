#pragma once

#include <vector>

#include "engine/engine_state.h"
#include "engine/time_accounting.h"

namespace millrace::engine {

// Ends answers: makes their last output, and publishes their pages or returns them to the session. Engine thread only.
class Endings {
 public:
  Endings(EngineState& state, TimeAccounting& accounting) : state_(state), accounting_(accounting) {}

  // Ends cancelled requests and those whose deadline has passed, and appends their outputs.
  void end_overdue(std::vector<Output>& outputs);
  // Ends all answers of the request that are in flight; no effect if it has ended. `error` is copied to their outputs.
  void end_request(RequestId id, FinishReason reason, std::vector<Output>& outputs, const Error* error = nullptr);
  // Ends the answer, and appends `output`, which may have its last token. Destroys the sequence. If a launched step
  // holds the sequence, only marks it: end_retired() ends it later, without that token. No effect on one that is
  // marked.
  void end(ActiveSequence& sequence, FinishReason reason, Output output, std::vector<Output>& outputs);
  // end() with kError. Pages of the sequence are neither published nor kept by its session.
  void fail(ActiveSequence& sequence, Error error, std::vector<Output>& outputs);
  // Ends the marked answers whose sequence no launched step holds now.
  void end_retired(std::vector<Output>& outputs);

 private:
  void retire(ActiveSequence& sequence, FinishReason reason, Output output);
  void end_now(ActiveSequence& sequence, FinishReason reason, Output output, std::vector<Output>& outputs);
  void give_back_pages(ActiveSequence& sequence, const RequestState& flight, bool trusted);

  EngineState& state_;
  TimeAccounting& accounting_;
  std::vector<ActiveSequence*> retiring_;
};

}  // namespace millrace::engine
