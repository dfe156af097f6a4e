#pragma once

#include <cstddef>

#include "base/json.h"

namespace millrace::server {

// The number of turns of a conversation. A turn begins with a message of the user; cutting there keeps tool results
// with their calls.
std::size_t turns_of(const Json& messages);
// The conversation without its first `turns` turns, turns < turns_of(). Messages before the first turn, such as system
// messages, stay.
Json without_first_turns(const Json& messages, std::size_t turns);

}  // namespace millrace::server
