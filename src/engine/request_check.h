#pragma once

#include <span>

#include "base/result.h"
#include "engine/engine_state.h"

namespace millrace::engine {

// Checks a request against this engine's limits and state. Errors name the field, the value and the limit:
// kInvalidArgument, kContextLength, kNotFound for a session that is not open, kResourceExhausted if too many requests
// wait. O(prompt). Engine thread only.
Result<void> check_request(const Request& request, const EngineState& state);

// kInvalidArgument, naming `param`, the first token that is outside the vocabulary, and its size. O(tokens).
Result<void> check_tokens(std::span<const std::int32_t> tokens, std::int64_t vocabulary, const char* param);

}  // namespace millrace::engine
