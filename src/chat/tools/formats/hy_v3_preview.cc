// <tool_calls><tool_call>f<tool_sep><arg_key>a</arg_key><arg_value>1</arg_value></tool_call></tool_calls>: Hunyuan 3
// Preview.

#include "chat/tools/hunyuan_calls.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  return 4 * (chat_template.find("<tool_sep>") != std::string_view::npos);
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return hunyuan_call_parser("", use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) { return hunyuan_calls("", to); }

}  // namespace

ToolFormat hy_v3_preview() {
  return {.name = "hy_v3_preview",
          .description = "<tool_call>f<tool_sep><arg_key>a</arg_key><arg_value>1</arg_value>: Hunyuan 3 Preview",
          .aliases = {},
          .recognise = recognise,
          .markers = {"<tool_calls>", "</tool_calls>", "<tool_call>", "</tool_call>", "<tool_sep>", "<arg_key>",
                      "</arg_key>", "<arg_value>", "</arg_value>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<tool_calls>"}};
}

}  // namespace millrace::chat::tools::formats
