// <tool_call>f, then <arg_key>a</arg_key><arg_value>1</arg_value> for each argument, </tool_call>: GLM 4.5 to 4.7,
// Laguna.

#include "chat/tools/call_grammar.h"
#include "chat/tools/tagged_call_parser.h"
#include "chat/tools/tagged_grammar.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  return 3 * (chat_template.find("<arg_key>") != std::string_view::npos);
}

// The name ends where the first argument, or the end of the call, begins; GLM 4.5 puts a line feed there.
std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return tagged_call_parser({.open = "<tool_call>",
                             .name_open = "",
                             .name_end = "<arg_key>",
                             .key_open = "<arg_key>",
                             .key_end = "</arg_key>",
                             .value_open = "<arg_value>",
                             .value_close = "</arg_value>",
                             .name_close = "",
                             .close = "</tool_call>"},
                            use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  const auto line = to.grammar().optional(to.bytes("\n"));
  auto call = tagged_call(
      to,
      {.open = [&](const std::string& name) { return to.sequence({to.special("<tool_call>"), to.bytes(name), line}); },
       .key =
           [&](const std::string& name) {
             return to.sequence(
                 {to.special("<arg_key>"), to.bytes(name), to.special("</arg_key>"), line, to.special("<arg_value>")});
           },
       .value_close = "</arg_value>",
       .after_value = to.bytes(""),
       .between = line,
       .close = to.sequence({line, to.special("</tool_call>")})});
  if (!call) return call;
  return to.several(*call, to.space());
}

}  // namespace

ToolFormat glm45() {
  return {.name = "glm45",
          .description = "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>: GLM, Laguna",
          .aliases = {"glm47", "poolside_v1"},
          .recognise = recognise,
          .markers = {"<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<tool_call>"}};
}

}  // namespace millrace::chat::tools::formats
