#pragma once

#include "engine/beam_groups.h"
#include "engine/engine_state.h"

namespace millrace::engine {

// Copies from the request to one of its sequences all that scheduler, sampler and speculation read, except times.
// `executor_depth` is Executor::depth().
void set_scheduling(ActiveSequence& sequence, const Request& request, int executor_depth);

// Checks new requests, makes their first sequence and queues it. Engine thread only.
class Intake {
 public:
  explicit Intake(EngineState& state) : state_(state) {}

  // Accepts the request, or returns the error of check_request() and changes nothing. `grammar` is what request.grammar
  // was compiled to, null without one.
  Result<RequestId> submit(Request request, std::shared_ptr<grammar::CompiledGrammar> grammar);

 private:
  void set_prompt(ActiveSequence& first, Request& request, const Sessions::Session* session);

  EngineState& state_;
};

}  // namespace millrace::engine
