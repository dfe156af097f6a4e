#pragma once

#include <span>

#include "base/result.h"
#include "engine/engine_state.h"

namespace millrace::engine {

// Checks whether the engine can accept the request now. kInvalidArgument or kContextLength name the field, the value
// and the limit; kNotFound: no such session; kResourceExhausted: too many requests wait. O(prompt). Engine thread only.
Result<void> check_request(const Request& request, const EngineState& state);

// kInvalidArgument naming `param` if a token is not in [0, vocabulary); the message has the first one. O(tokens).
Result<void> check_tokens(std::span<const std::int32_t> tokens, std::int64_t vocabulary, const char* param);

}  // namespace millrace::engine
