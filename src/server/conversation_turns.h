#pragma once

#include <cstddef>

#include "base/json.h"

namespace millrace::server {

// A conversation may be cut where a message of the user begins a turn: no result then stands without its call.
std::size_t turns_of(const Json& messages);
// The conversation without its first `turns`; what stood before the first of them, system messages, stays. `turns`:
// less than turns_of().
Json without_first_turns(const Json& messages, std::size_t turns);

}  // namespace millrace::server
