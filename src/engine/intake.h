#pragma once

#include "engine/beam_groups.h"
#include "engine/engine_state.h"

namespace millrace::engine {

// Sets the fields of a sequence that scheduling, sampling and speculation read, from its request; times are left out.
void set_scheduling(ActiveSequence& sequence, const Request& request);

// Accepts requests: checks them, makes their first sequences and queues these. Engine thread only.
class Intake {
 public:
  explicit Intake(EngineState& state) : state_(state) {}

  // Accepts the request, or returns the error of check_request() without any change. `grammar` is request.grammar,
  // compiled for this engine; null if there is none.
  Result<RequestId> submit(Request request, std::shared_ptr<grammar::CompiledGrammar> grammar);

 private:
  std::unique_ptr<model::AdapterClaim> claim_of(const Request& request) const;
  void set_prompt(ActiveSequence& first, Request& request, const Sessions::Session* session);

  EngineState& state_;
};

}  // namespace millrace::engine
