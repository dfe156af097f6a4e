#pragma once

#include <nlohmann/json_fwd.hpp>

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// Data from outside as a value: every string untrusted, invalid UTF-8 replaced, nesting within the limit.
Value from_json(Runtime& runtime, const nlohmann::ordered_json& json);

// The messages of a conversation. As from_json, but the `role` of a message is trusted if it is one of chat_roles():
// such a word was validated against a list, and templates build special tokens around it.
Value messages_from_json(Runtime& runtime, const nlohmann::ordered_json& json);

}  // namespace millrace::chat::jinja
