#pragma once

#include <cstddef>

#include "base/json.h"

namespace millrace::server {

// Number of turns of a conversation, which is a list of chat messages. Each message of role user begins a turn. Cutting
// between turns leaves no result of a tool without its call.
std::size_t turns_of(const Json& messages);
// The conversation without its first `turns` turns, which must be fewer than turns_of(). System and developer messages
// at its beginning stay; anything else before the first turn is left out too, unless `turns` is 0.
Json without_first_turns(const Json& messages, std::size_t turns);

}  // namespace millrace::server
