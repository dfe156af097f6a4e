// <|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {...}}]<|END_ACTION|>: Command R7B and A.

#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  return 2 * (chat_template.find("<|START_ACTION|>") != std::string_view::npos);
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {"<|START_ACTION|>"}, .closer = "<|END_ACTION|>"}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    unicode::CodePointSet digits;
    digits.add(U'0', U'9');
    const auto id = to.grammar().repeat(to.grammar().character(digits), 1, 3);
    return to.sequence({to.bytes("{"), to.space(), to.bytes("\"tool_call_id\": \""), id, to.bytes("\","), to.space(),
                        to.bytes("\"tool_name\": " + json_string(tool.name) + ","), to.space(),
                        to.bytes("\"parameters\": "), *arguments, to.space(), to.bytes("}")});
  });
  if (!call) return call;
  const auto comma = to.sequence({to.space(), to.bytes(","), to.space()});
  return to.sequence({to.special("<|START_ACTION|>"), to.space(), to.bytes("["), to.space(), to.several(*call, comma),
                      to.space(), to.bytes("]"), to.space(), to.special("<|END_ACTION|>")});
}

}  // namespace

ToolFormat command_r7b() {
  return {.name = "command_r7b",
          .description = "<|START_ACTION|>[{\"tool_name\", \"parameters\"}]<|END_ACTION|>: Command R7B and A",
          .aliases = {"cohere_command3"},
          .recognise = recognise,
          .markers = {"<|START_ACTION|>", "<|END_ACTION|>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<|START_ACTION|>"}};
}

}  // namespace millrace::chat::tools::formats
