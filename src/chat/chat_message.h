#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "chat/chat_capabilities.h"

namespace millrace::chat {

// One message of a request in the form that the template accepts. `path` names it in errors: "messages[2]". Throws
// ChatRejection.
nlohmann::ordered_json normalized_message(const nlohmann::ordered_json& message, const std::string& path,
                                          const TemplateCapabilities& capabilities);

}  // namespace millrace::chat
