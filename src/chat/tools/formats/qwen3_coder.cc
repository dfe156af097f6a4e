// <tool_call><function=f><parameter=a>1</parameter> ... </function></tool_call>: Qwen3-Coder.

#include "chat/tools/call_grammar.h"
#include "chat/tools/tagged_call_parser.h"
#include "chat/tools/tagged_grammar.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 3 * (has("<tool_call>") && has("<function=") && has("<parameter="));
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return tagged_call_parser({.open = "<tool_call>",
                             .name_open = "<function=",
                             .name_end = ">",
                             .key_open = "<parameter=",
                             .key_end = ">",
                             .value_open = "",
                             .value_close = "</parameter>",
                             .name_close = "</function>",
                             .close = "</tool_call>",
                             .value_lines = true},
                            use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  const auto line = to.grammar().optional(to.bytes("\n"));
  auto call =
      tagged_call(to, {.open =
                           [&](const std::string& name) {
                             return to.sequence({to.special("<tool_call>"), to.bytes("\n<function=" + name + ">\n")});
                           },
                       .key = [&](const std::string& name) { return to.bytes("<parameter=" + name + ">\n"); },
                       .value_close = "\n</parameter>",
                       .after_value = to.bytes(""),
                       .between = to.bytes("\n"),
                       .close = to.sequence({line, to.bytes("</function>\n"), to.special("</tool_call>")})});
  if (!call) return call;
  return to.several(*call, to.space());
}

}  // namespace

ToolFormat qwen3_coder() {
  return {.name = "qwen3_coder",
          .description = "<tool_call><function=f><parameter=a>1</parameter></function></tool_call>: Qwen3-Coder",
          .aliases = {"qwen3_xml"},
          .recognise = recognise,
          .markers = {"<tool_call>", "</tool_call>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<tool_call>"}};
}

}  // namespace millrace::chat::tools::formats
