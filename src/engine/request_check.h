#pragma once

#include "base/result.h"
#include "engine/engine_state.h"

namespace millrace::engine {

// What is wrong with a request for this engine now: kInvalidArgument or kContextLength naming the field, the value and
// the limit, kNotFound for a session that is not there, kResourceExhausted where too many requests wait. O(prompt).
Result<void> check_request(const Request& request, const EngineState& state);

}  // namespace millrace::engine
