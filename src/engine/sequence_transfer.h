#pragma once

#include "engine/engine_state.h"
#include "engine/intake.h"
#include "engine/sequence_snapshot.h"
#include "engine/step_loop.h"

namespace millrace::engine {

// Exports requests and sessions from an engine, and imports them into another one. An imported sequence waits as if it
// had been preempted with its pages in host memory; its admission copies them to the device. Engine thread only,
// between steps.
class SequenceTransfer {
 public:
  SequenceTransfer(EngineState& state, StepLoop& loop) : state_(state), loop_(loop), accounting_(loop.accounting()) {}

  // Waits for all launched steps and appends their outputs, of all requests, to `outputs`. Then removes the request
  // from the engine. Its pages are published as if it had ended; its session is closed and becomes part of the
  // snapshot. kNotFound if there is no such request, or it has ended or is being cancelled. Copies the pages of all its
  // answers from the device.
  Result<SequenceSnapshot> export_sequence(RequestId id, std::vector<Output>& outputs);
  // kInvalidArgument, param "snapshot": of another model or form of pages, or it contradicts itself; kContextLength:
  // longer than this engine's sequences; kResourceExhausted: too many requests wait. After an error nothing has
  // changed, and the snapshot may be imported elsewhere. `grammar` is snapshot.request.grammar compiled for this
  // engine, null without one. O(tokens), and a copy of the pages.
  Result<ImportedSequence> import_sequence(const SequenceSnapshot& snapshot,
                                           const std::shared_ptr<grammar::CompiledGrammar>& grammar = nullptr);

  // The same for an idle session. export_session(): kNotFound if it is not open, kInvalidArgument if it has a request
  // in flight.
  Result<SessionSnapshot> export_session(SessionId id);
  Result<SessionId> import_session(const SessionSnapshot& snapshot);

 private:
  AnswerSnapshot snapshot_of(ActiveSequence& sequence);
  Result<std::unique_ptr<ActiveSequence>> restore(const SequenceSnapshot& snapshot, const AnswerSnapshot& answer,
                                                  RequestId id, const decode::SamplingParams& sampling,
                                                  std::optional<grammar::Matcher> grammar);
  void remove(RequestId id, RequestState& flight);

  EngineState& state_;
  StepLoop& loop_;
  TimeAccounting& accounting_;
};

}  // namespace millrace::engine
