#pragma once

#include "server/generation_fields.h"

namespace millrace::server {

// Of a function's name, description, parameters and strict, for the OpenAPI document; and of tool_choice.
Json function_shape();
Json tool_choice_shape();

// A function's name as it stands at `path`.
Result<void> check_tool_name(const Json& name, const std::string& path);

// tools, tool_choice and parallel_tool_calls -> tool_use. Tools as the chat API spells them; tool_choice as it or the
// Responses API does:
//   "none" | "auto" | "required" | {"type": "function", "name"} | {"type": "function", "function": {"name"}}
//   {"type": "allowed_tools", "mode", "tools"} | {"type": "allowed_tools", "allowed_tools": {"mode", "tools"}}
// kInvalidArgument naming the field.
Result<void> read_tools(GenerationFields& fields);

}  // namespace millrace::server
