#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "chat/chat_capabilities.h"

namespace millrace::chat {

// The variables of a chat template, from a request in the form of the OpenAI API, an object with
//   messages               roles of chat_roles(); content a string or parts of type text; tool_calls, tool_call_id
//   tools                  [{"type": "function", "function": {"name", "description"?, "parameters"?}}], or null
//   documents              a list of objects, or null
//   chat_template_kwargs   further variables by name: strings, numbers, booleans, null
//   add_generation_prompt  default true
// Other fields are ignored, except `chat_template`, which is an error: a request must not bring code. Messages get the
// form that the template accepts (`capabilities`): parts are joined by line feeds if it only accepts strings, arguments
// of tool calls become objects or text, and `developer` becomes `system` if the template does not know it.
// kInvalidArgument names the field: messages[2].content[1].type is "image_url"; this model takes text only
Result<nlohmann::ordered_json> chat_variables(const nlohmann::ordered_json& request,
                                              const TemplateCapabilities& capabilities);

}  // namespace millrace::chat
