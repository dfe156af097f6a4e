// <tool_calls>[{"name", "arguments"}]</tool_calls>: Jamba, HunYuan.

#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  return 2 * (chat_template.find("<tool_calls>") != std::string_view::npos);
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {"<tool_calls>"}, .closer = "</tool_calls>"}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) { return to.json_call(tool); });
  if (!call) return call;
  const auto comma = to.sequence({to.space(), to.bytes(","), to.space()});
  return to.sequence({to.special("<tool_calls>"), to.bytes("["), to.space(), to.several(*call, comma), to.space(),
                      to.bytes("]"), to.special("</tool_calls>")});
}

}  // namespace

ToolFormat jamba() {
  return {.name = "jamba",
          .description = "<tool_calls>[{\"name\", \"arguments\"}]</tool_calls>: Jamba, HunYuan",
          .aliases = {"hunyuan", "hunyuan_a13b"},
          .recognise = recognise,
          .markers = {"<tool_calls>", "</tool_calls>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<tool_calls>"}};
}

}  // namespace millrace::chat::tools::formats
