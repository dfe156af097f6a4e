// <function_call> {"name", "arguments"}, one such word a call: Granite-20B-FunctionCalling.

#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 2 * (has("<function_call>") && has("<|function_call_library|>"));
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {"<function_call>"}, .closer = ""}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) { return to.json_call(tool); });
  if (!call) return call;
  return to.several(to.sequence({to.special("<function_call>"), to.space(), *call}), to.space());
}

}  // namespace

ToolFormat granite_20b_fc() {
  return {.name = "granite_20b_fc",
          .description = "<function_call> {\"name\", \"arguments\"}: Granite-20B-FunctionCalling",
          .aliases = {"granite-20b-fc"},
          .recognise = recognise,
          .markers = {"<function_call>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<function_call>"}};
}

}  // namespace millrace::chat::tools::formats
