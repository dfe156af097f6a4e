// <|tool_call|> and a JSON list of {"name", "arguments"}: Granite 3.

#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 2 * (has("<|tool_call|>") && has("<|start_of_role|>"));
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {"<|tool_call|>", "<tool_call>"}, .closer = ""}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) { return to.json_call(tool); });
  if (!call) return call;
  const auto comma = to.sequence({to.space(), to.bytes(","), to.space()});
  return to.sequence({to.special("<|tool_call|>"), to.space(), to.bytes("["), to.space(), to.several(*call, comma),
                      to.space(), to.bytes("]")});
}

}  // namespace

ToolFormat granite() {
  return {.name = "granite",
          .description = "<|tool_call|>[{\"name\", \"arguments\"}]: Granite 3",
          .aliases = {},
          .recognise = recognise,
          .markers = {"<|tool_call|>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<|tool_call|>"}};
}

}  // namespace millrace::chat::tools::formats
