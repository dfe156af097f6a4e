#pragma once

#include "chat/chat_capabilities.h"
#include "server/generation_fields.h"

namespace millrace::server {

// Adds the fields that say how much the model reasons before it answers, and whether the client sees the reasoning.
void add_reasoning_fields(GenerationSchema& schema);
// Reads the field `name` into to.reasoning_effort: none, minimal, low, medium, high or xhigh. kInvalidArgument naming
// the field.
Result<void> read_effort(GenerationFields& to, const std::string& name, const Json& value);

// The further variables of the chat template: chat_template_kwargs, and the variable with which the template switches
// reasoning, where fields of the request set it. A variable in chat_template_kwargs goes before those fields.
Json template_variables(const GenerationFields& fields, const chat::TemplateCapabilities& capabilities);

}  // namespace millrace::server
