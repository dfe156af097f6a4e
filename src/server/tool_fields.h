#pragma once

#include "server/generation_fields.h"

namespace millrace::server {

// JSON Schemas for the OpenAPI document: a function (name, description, parameters, strict), and tool_choice.
Json function_shape();
Json tool_choice_shape();

// Checks a function's name. kInvalidArgument names `path`.
Result<void> check_tool_name(const Json& name, const std::string& path);

// The message for tools that a provider's service runs itself, such as web_search.
inline constexpr const char* kNoToolsOfItsOwn = "this server runs no tools of its own";
// The error for such a tool of that type at `path`: kUnsupported.
Error reject_service_tool(const Json& type, const std::string& path);
// Adds the members of a tool that have no effect to `notes`, as "tools.NAME".
void note_members(const Json& tool, std::initializer_list<std::string_view> known, FieldNotes& notes);

// Sets the field tools from a list in the chat API's form. kInvalidArgument names the field, as in the functions below.
Result<void> set_tools(GenerationFields& fields, Json tools);

// Sets tool_choice in the form of the chat API or the Responses API. resolve_tool_choice() checks the names in it.
//   "none" | "auto" | "required" | {"type": "function", "name"} | {"type": "function", "function": {"name"}}
//   {"type": "allowed_tools", "mode", "tools"} | {"type": "allowed_tools", "allowed_tools": {"mode", "tools"}}
Result<void> set_tool_choice(GenerationFields& fields, const Json& choice);

// Makes tool_use from tools, tool_choice and parallel_tool_calls, once all of them are set.
Result<void> resolve_tool_choice(GenerationFields& fields);

}  // namespace millrace::server
