#pragma once

#include <nlohmann/json_fwd.hpp>

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// Data from outside as a value. Every string is untrusted, invalid UTF-8 is replaced, and nesting is limited.
Value from_json(Runtime& runtime, const nlohmann::ordered_json& json);

// The messages of a conversation as from_json() makes them, but with trusted `role`s of messages that are in
// chat_roles(). These are words of a fixed list, and templates build special tokens around them.
Value messages_from_json(Runtime& runtime, const nlohmann::ordered_json& json);

}  // namespace millrace::chat::jinja
