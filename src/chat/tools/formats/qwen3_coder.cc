// <tool_call><function=f><parameter=a>1</parameter> ... </function></tool_call>: Qwen3-Coder.

#include "chat/tools/call_grammar.h"
#include "chat/tools/tagged_call_parser.h"

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
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    const auto spell = [&](const CallGrammar::Property& property) -> Result<grammar::ExpressionId> {
      auto value = to.tagged_value(property, tool.strict, "\n</parameter>");
      if (!value) return value;
      return to.sequence({to.bytes("<parameter=" + property.name + ">\n"), *value});
    };
    auto members = to.properties(tool, to.bytes("\n"), spell, to.bytes(""));
    if (!members) return members;
    return to.sequence({to.special("<tool_call>"), to.bytes("\n<function=" + tool.name + ">\n"), *members,
                        to.grammar().optional(to.bytes("\n")), to.bytes("</function>\n"), to.special("</tool_call>")});
  });
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
