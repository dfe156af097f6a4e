// all and a text, or f and its arguments, each on a line after >>>, which the prompt ends with: Functionary v3.2.

#include "server/tools/call_grammar.h"
#include "server/tools/recipient_parser.h"

namespace millrace::server::tools::formats {
namespace {

int recognise(std::string_view chat_template) { return 3 * (chat_template.find(">>>all") != std::string_view::npos); }

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return recipient_parser({.head_end = "\n", .next = ">>>"}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence({to.bytes(tool.name + "\n"), *arguments});
  });
  if (!call) return call;
  return to.several(*call, to.bytes(">>>"));
}

}  // namespace

ToolFormat functionary_v3() {
  return {.name = "functionary_v3",
          .description = "f and its arguments on a line each, >>> between: Functionary v3.2",
          .aliases = {"functionary", "functionary_v3_2"},
          .recognise = recognise,
          .markers = {},
          .always = true,
          .parser = parser,
          .calls = calls,
          .openers = {}};
}

}  // namespace millrace::server::tools::formats
