// <tool_call>{"name": "f", "arguments": {...}}</tool_call>, one such pair a call: Hermes, Qwen 2.5 and 3, Granite 4.

#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) { return chat_template.find("<tool_call>") != std::string_view::npos; }

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {"<tool_call>"}, .closer = "</tool_call>"}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) { return to.json_call(tool); });
  if (!call) return call;
  const auto tagged =
      to.sequence({to.special("<tool_call>"), to.space(), *call, to.space(), to.special("</tool_call>")});
  return to.several(tagged, to.space());
}

}  // namespace

ToolFormat hermes() {
  return {
      .name = "hermes",
      .description = "<tool_call>{\"name\", \"arguments\"}</tool_call>: Hermes, Qwen 2.5 and 3, Granite 4, EXAONE 4",
      .aliases = {"qwen25", "qwen3", "granite4", "exaone4", "smollm3", "ernie45", "arcee", "trinity"},
      .recognise = recognise,
      .markers = {"<tool_call>", "</tool_call>"},
      .parser = parser,
      .calls = calls,
      .openers = {"<tool_call>"}};
}

}  // namespace millrace::chat::tools::formats
