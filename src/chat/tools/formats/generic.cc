// For models whose template knows no tools, or writes calls in a form of its own: told of them in the system message,
// as Hermes has it. Calls are taken as JSON with or without the marker.

#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {"<tool_call>"}, .closer = "</tool_call>", .bare = true}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) { return to.json_call(tool); });
  if (!call) return call;
  const auto tagged = to.sequence({to.bytes("<tool_call>"), to.space(), *call, to.space(), to.bytes("</tool_call>")});
  return to.several(tagged, to.space());
}

}  // namespace

ToolFormat generic() {
  return {.name = "generic",
          .description = "as hermes, also without the marker: where the template is of no known format",
          .aliases = {},
          .markers = {"<tool_call>", "</tool_call>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<tool_call>"}};
}

}  // namespace millrace::chat::tools::formats
