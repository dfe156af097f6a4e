#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "chat/chat_capabilities.h"

namespace millrace::chat {

// The variables of a chat template from a request as the OpenAI API spells it, an object with
//   messages               roles of chat_roles(); content a string or parts of type text; tool_calls, tool_call_id
//   tools                  [{"type": "function", "function": {"name", "description"?, "parameters"?}}], or null
//   documents              a list of objects, or null
//   chat_template_kwargs   further variables by name: strings, numbers, booleans, null
//   add_generation_prompt  default true
// Other fields are not looked at, except `chat_template`, which is refused: a request brings no code. Messages come out
// in the form that the template takes (`capabilities`): parts joined by line feeds where it takes strings only,
// arguments of tool calls as object or as text, `developer` as `system` where it is not known.
// kInvalidArgument names the field: messages[2].content[1].type is "image_url"; this model takes text only
Result<nlohmann::ordered_json> chat_variables(const nlohmann::ordered_json& request,
                                              const TemplateCapabilities& capabilities);

}  // namespace millrace::chat
