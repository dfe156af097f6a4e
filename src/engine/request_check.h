#pragma once

#include <span>

#include "base/result.h"
#include "engine/engine_state.h"

namespace millrace::engine {

// What is wrong with a request for this engine now: kInvalidArgument or kContextLength naming the field, the value and
// the limit, kNotFound for a session that is not there, kResourceExhausted where too many requests wait. O(prompt).
Result<void> check_request(const Request& request, const EngineState& state);

// kInvalidArgument, naming `param`, the first token that is outside the vocabulary, and its size. O(tokens).
Result<void> check_tokens(std::span<const std::int32_t> tokens, std::int64_t vocabulary, const char* param);

}  // namespace millrace::engine
