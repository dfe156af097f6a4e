// <|tool_call|> and a JSON list of {"name", "arguments"}, then <|/tool_call|>; or functools and the list: Phi-4-mini.

#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  return 2 * (chat_template.find("<|/tool|>") != std::string_view::npos);
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {"<|tool_call|>", "functools"}, .closer = "<|/tool_call|>"}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) { return to.json_call(tool); });
  if (!call) return call;
  const auto comma = to.sequence({to.space(), to.bytes(","), to.space()});
  return to.sequence({to.special("<|tool_call|>"), to.bytes("["), to.space(), to.several(*call, comma), to.space(),
                      to.bytes("]"), to.special("<|/tool_call|>")});
}

}  // namespace

ToolFormat phi4_mini_json() {
  return {.name = "phi4_mini_json",
          .description = "<|tool_call|>[{\"name\", \"arguments\"}]<|/tool_call|>, or functools[...]: Phi-4-mini",
          .aliases = {},
          .recognise = recognise,
          .markers = {"<|tool_call|>", "<|/tool_call|>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<|tool_call|>"}};
}

}  // namespace millrace::chat::tools::formats
