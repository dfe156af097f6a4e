#pragma once

#include "engine/beam_groups.h"
#include "engine/engine_state.h"

namespace millrace::engine {

// Where requests come in: checked, made into sequences, queued. The engine's thread.
class Intake {
 public:
  explicit Intake(EngineState& state) : state_(state) {}

  // Accepts the request or says what is wrong with it (check_request()); nothing changes then.
  Result<RequestId> submit(Request request, std::shared_ptr<grammar::CompiledGrammar> grammar);

 private:
  void set_prompt(ActiveSequence& first, Request& request, const Sessions::Session* session);
  void set_scheduling(ActiveSequence& first, const Request& request) const;

  EngineState& state_;
};

}  // namespace millrace::engine
