#pragma once

#include "engine/engine_state.h"
#include "engine/intake.h"
#include "engine/sequence_snapshot.h"
#include "engine/step_loop.h"

namespace millrace::engine {

// Takes requests and sessions out of an engine and lets them go on in another one. An imported sequence comes as one
// that was preempted with its pages in host memory: admission brings them back. The engine's thread, between steps.
class SequenceTransfer {
 public:
  SequenceTransfer(EngineState& state, StepLoop& loop) : state_(state), loop_(loop), accounting_(loop.accounting()) {}

  // Waits for the steps that are launched, whose outputs, of all requests, are appended to `outputs`. Then the request
  // is not the engine's any more; what it computed is published as if it had ended, and its session, if any, is closed
  // and goes with it. kNotFound: no such request, or it has ended or is being cancelled. Reads the pages of all its
  // answers from the device.
  Result<SequenceSnapshot> export_sequence(RequestId id, std::vector<Output>& outputs);
  // kInvalidArgument, param "snapshot": of another model or form of pages, or it contradicts itself; kContextLength:
  // longer than this engine's sequences; kResourceExhausted: too many requests wait. Nothing changes then, and the
  // snapshot may be imported elsewhere. O(tokens) and a copy of its pages. `grammar` is what that of the snapshot's
  // request was compiled to for this engine; null where there is none.
  Result<ImportedSequence> import_sequence(const SequenceSnapshot& snapshot,
                                           const std::shared_ptr<grammar::CompiledGrammar>& grammar = nullptr);

  // The same for a session without a request in flight; kNotFound, or kInvalidArgument for one that has.
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
