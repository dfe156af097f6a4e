#pragma once

#include <atomic>
#include <optional>

#include "server/api_error.h"
#include "server/generation.h"

namespace millrace::server {

// Gives the task's requests the grammar that its fields ask for: a constraint on the text, calls of tools as the model
// spells them, or one of the two; after the reasoning where the model reasons. Compiles it, on the calling thread.
//   grammar_too_complex  400: it takes more than grammar::WorkLimits
//   grammar_invalid      400: it is none, or cannot be expressed
// Both with the request's field as param. `cancelled`: the client has gone.
std::optional<ApiError> add_grammar(GenerationTask& task, const std::atomic<bool>& cancelled);

}  // namespace millrace::server
