#pragma once

#include "chat/chat_capabilities.h"
#include "server/generation_fields.h"

namespace millrace::server {

// Adds the fields that say how much the model reasons, and whether the client sees it.
void add_reasoning_fields(GenerationSchema& schema);
Result<void> read_effort(GenerationFields& to, const std::string& name, const Json& value);

// chat_template_kwargs, and the template's own variable for reasoning if a field of the request sets it.
Json template_variables(const GenerationFields& fields, const chat::TemplateCapabilities& capabilities);

}  // namespace millrace::server
