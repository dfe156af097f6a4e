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

  // Ends the requests that were cancelled and those whose deadline has passed.
  void end_overdue(std::vector<Output>& outputs);
  // Ends all answers of the request that are in flight; does nothing for a request that has ended.
  void end_request(RequestId id, FinishReason reason, std::vector<Output>& outputs, const Error* error = nullptr);
  // Ends the answer, now or as soon as no launched step holds its sequence: see end_retired(). `output` may hold its
  // last token. The sequence is gone afterwards, unless its end was put off.
  void end(ActiveSequence& sequence, FinishReason reason, Output output, std::vector<Output>& outputs);
  void fail(ActiveSequence& sequence, Error error, std::vector<Output>& outputs);
  // Ends the answers whose end was put off because a launched step held their sequence, as far as none holds it now.
  void end_retired(std::vector<Output>& outputs);

 private:
  void retire(ActiveSequence& sequence, FinishReason reason, Output output);
  void give_back_pages(ActiveSequence& sequence, const RequestState& flight, bool trusted);

  EngineState& state_;
  TimeAccounting& accounting_;
  std::vector<ActiveSequence*> retiring_;
};

}  // namespace millrace::engine
