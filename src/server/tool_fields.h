#pragma once

#include "server/generation_fields.h"

namespace millrace::server {

// JSON Schemas for the OpenAPI document: function_shape() has the properties name, description, parameters and strict
// of a function, tool_choice_shape() is the schema of tool_choice.
Json function_shape();
Json tool_choice_shape();

// Checks a function's name, which stands at `path`: 1 to RequestLimits::kToolName letters, digits, '_', '-' and '.'.
// kInvalidArgument naming `path`.
Result<void> check_tool_name(const Json& name, const std::string& path);

// The reason in the errors for tools that a service runs itself, such as web_search.
inline constexpr const char* kNoToolsOfItsOwn = "this server runs no tools of its own";
// The error for a tool at `path` that a service would run itself: kUnsupported naming path.type. `type` is its type,
// which must be a string.
Error reject_service_tool(const Json& type, const std::string& path);
// Adds "tools.NAME" to `notes` for each member of the object `tool` that is not null and not in `known`.
void note_members(const Json& tool, std::initializer_list<std::string_view> known, FieldNotes& notes);

// Sets fields.tools, and fields.tool_use.tools to the functions in them. `tools` is a list as the chat API spells it.
// kInvalidArgument naming the entry for a wrong one, or for a name that occurs twice. For one call per request.
Result<void> set_tools(GenerationFields& fields, Json tools);

// Sets fields.tool_choice, spelled as in the chat API or in the Responses API. Checks its outer form only, with
// kInvalidArgument naming tool_choice; resolve_tool_choice() checks the functions that it names.
//   "none" | "auto" | "required" | {"type": "function", "name"} | {"type": "function", "function": {"name"}}
//   {"type": "allowed_tools", "mode", "tools"} | {"type": "allowed_tools", "allowed_tools": {"mode", "tools"}}
Result<void> set_tool_choice(GenerationFields& fields, const Json& choice);

// Completes fields.tool_use from tools, tool_choice and parallel_tool_calls, once all of these are read. Functions that
// may not be called are removed from tool_use.tools. kInvalidArgument naming tool_choice or a member of it, or the
// field of a constraint that excludes a demanded call.
Result<void> resolve_tool_choice(GenerationFields& fields);

}  // namespace millrace::server
