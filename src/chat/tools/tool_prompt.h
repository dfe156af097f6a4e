#pragma once

#include "base/json.h"
#include "chat/chat_capabilities.h"

namespace millrace::chat::tools {

// A conversation whose template cannot say all of it, in terms that it can: definitions of tools become part of the
// system message, calls of the assistant text as Hermes writes them, results messages of the user, and system messages
// after the first words of the user where it takes them only at the beginning. What the template does say stays.
// `tools`: those the model is to be told of, null for none.
Json spelled_out(const Json& messages, const Json& tools, const chat::TemplateCapabilities& capabilities);

}  // namespace millrace::chat::tools
