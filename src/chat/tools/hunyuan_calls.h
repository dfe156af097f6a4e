#pragma once

#include <memory>
#include <string_view>

#include "chat/tools/call_grammar.h"
#include "chat/tools/tool_format.h"

namespace millrace::chat::tools {

// The format of Hunyuan 3's calls. Each word ends with a suffix that names the release (":opensource"), or has none.
//   <tool_calls>
//   <tool_call>NAME<tool_sep>
//   <arg_key>KEY</arg_key>
//   <arg_value>VALUE</arg_value>
//   </tool_call>
//   </tool_calls>
std::unique_ptr<ToolParser> hunyuan_call_parser(std::string_view suffix, const ToolUse& use, PartWriter& writer);
Result<grammar::ExpressionId> hunyuan_calls(std::string_view suffix, CallGrammar& to);

}  // namespace millrace::chat::tools
