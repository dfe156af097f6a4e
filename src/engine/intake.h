#pragma once

#include "engine/beam_groups.h"
#include "engine/engine_state.h"

namespace millrace::engine {

// What the scheduler, the sampler and speculation go by of a sequence that answers the request, but its times.
void set_scheduling(ActiveSequence& sequence, const Request& request, int executor_depth);

// Where requests come in: checked, made into sequences, queued. The engine's thread.
class Intake {
 public:
  explicit Intake(EngineState& state) : state_(state) {}

  // Accepts the request or says what is wrong with it (check_request()); nothing changes then.
  Result<RequestId> submit(Request request, std::shared_ptr<grammar::CompiledGrammar> grammar);

 private:
  void set_prompt(ActiveSequence& first, Request& request, const Sessions::Session* session);

  EngineState& state_;
};

}  // namespace millrace::engine
