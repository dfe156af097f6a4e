#pragma once

#include "base/json.h"
#include "chat/chat_capabilities.h"

namespace millrace::chat::tools {

// Rewrites a conversation for a template that cannot render all of it. Definitions of tools become part of the system
// message, the assistant's calls become text in the format of Hermes, and results become messages of the user. If the
// template only accepts system messages at the beginning, later ones become text of the user. What the template can
// render stays. `tools` are the definitions for the model; null for none.
Json spelled_out(const Json& messages, const Json& tools, const chat::TemplateCapabilities& capabilities);

}  // namespace millrace::chat::tools
