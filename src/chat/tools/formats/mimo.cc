// <tool_call><function=f><parameter=a>1</parameter></function></tool_call>, as Qwen3-Coder's but without the line feeds
// around values: MiMo V2.

#include "chat/tools/call_grammar.h"
#include "chat/tools/tagged_call_parser.h"
#include "chat/tools/tagged_grammar.h"

namespace millrace::chat::tools::formats {
namespace {

// By what only this family's template says of the form that it shares.
int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 4 * (has("<tool_call>") && has("<function=") && has("<parameter=") && has("You are MiMo"));
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return tagged_call_parser({.section_open = "",
                             .section_close = "",
                             .open = "<tool_call>",
                             .name_open = "<function=",
                             .name_end = ">",
                             .key_open = "<parameter=",
                             .key_end = ">",
                             .value_open = "",
                             .value_close = "</parameter>",
                             .name_close = "</function>",
                             .close = "</tool_call>"},
                            use, writer);
}

// Line feeds between the tags: V2-Flash writes them, V2.6 does not.
Result<grammar::ExpressionId> calls(CallGrammar& to) {
  const auto line = to.grammar().optional(to.bytes("\n"));
  auto call = tagged_call(
      to, {.open =
               [&](const std::string& name) {
                 return to.sequence({to.special("<tool_call>"), line, to.bytes("<function=" + name + ">"), line});
               },
           .key = [&](const std::string& name) { return to.bytes("<parameter=" + name + ">"); },
           .value_close = "</parameter>",
           .after_value = line,
           .between = to.bytes(""),
           .close = to.sequence({to.bytes("</function>"), line, to.special("</tool_call>")})});
  if (!call) return call;
  return to.several(*call, to.space());
}

}  // namespace

ToolFormat mimo() {
  return {.name = "mimo",
          .description = "<tool_call><function=f><parameter=a>1</parameter></function></tool_call>: MiMo V2",
          .aliases = {},
          .recognise = recognise,
          .markers = {"<tool_call>", "</tool_call>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<tool_call>"}};
}

}  // namespace millrace::chat::tools::formats
