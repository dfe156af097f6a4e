#pragma once

#include "engine/engine_state.h"
#include "engine/intake.h"
#include "engine/sequence_snapshot.h"
#include "engine/step_loop.h"

namespace millrace::engine {

// Exports requests and sessions from an engine and imports them into another one, where they continue bit for bit. An
// imported sequence waits as if preempted with its pages in host memory, until admission brings them back. Engine
// thread only, between steps.
class SequenceTransfer {
 public:
  SequenceTransfer(EngineState& state, StepLoop& loop) : state_(state), loop_(loop), accounting_(loop.accounting()) {}

  // Waits for the steps in flight and appends their outputs, of all requests, to `outputs`. Then removes the request:
  // its pages are published as if it had ended, and its session, if any, is closed and part of the snapshot. kNotFound
  // if there is no such request, or it has ended or is being cancelled. Reads the pages of all its answers from the
  // device.
  Result<SequenceSnapshot> export_sequence(RequestId id, std::vector<Output>& outputs);
  // Continues the request, with a new id. `grammar` is that of the snapshot's request, compiled for this engine; null
  // if it has none. Takes O(tokens) and a copy of its pages. Errors change nothing, so that the snapshot may be
  // imported elsewhere. kInvalidArgument naming "snapshot": another model or form of pages, or the snapshot contradicts
  // itself. kContextLength: it exceeds this engine's length of sequences. kResourceExhausted: too many requests wait.
  Result<ImportedSequence> import_sequence(const SequenceSnapshot& snapshot,
                                           const std::shared_ptr<grammar::CompiledGrammar>& grammar = nullptr);

  // Export and import an idle session like a request. kNotFound if it is not open, kInvalidArgument if it has a request
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
