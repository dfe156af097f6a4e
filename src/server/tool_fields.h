#pragma once

#include "server/generation_fields.h"

namespace millrace::server {

// Shapes of a function's name, description, parameters and strict, for the OpenAPI document; and of tool_choice.
Json function_shape();
Json tool_choice_shape();

// A function's name as it stands at `path`.
Result<void> check_tool_name(const Json& name, const std::string& path);

// What is said where a client counts on tools that its own service runs: web_search and the like.
inline constexpr const char* kNoToolsOfItsOwn = "this server runs no tools of its own";
// One of these at `path`, of that type. kUnsupported.
Error reject_service_tool(const Json& type, const std::string& path);
// Members of a tool that are not used, as "tools.NAME".
void note_members(const Json& tool, std::initializer_list<std::string_view> known, FieldNotes& notes);

// Takes `tools`, a list as the chat API spells it, and what may be called of it. kInvalidArgument naming the field, as
// the others.
Result<void> set_tools(GenerationFields& fields, Json tools);

// Takes tool_choice as the chat API or the Responses API has it; what it refers to is looked at by
// resolve_tool_choice().
//   "none" | "auto" | "required" | {"type": "function", "name"} | {"type": "function", "function": {"name"}}
//   {"type": "allowed_tools", "mode", "tools"} | {"type": "allowed_tools", "allowed_tools": {"mode", "tools"}}
Result<void> set_tool_choice(GenerationFields& fields, const Json& choice);

// tools, tool_choice and parallel_tool_calls together, once all are known -> tool_use.
Result<void> resolve_tool_choice(GenerationFields& fields);

}  // namespace millrace::server
