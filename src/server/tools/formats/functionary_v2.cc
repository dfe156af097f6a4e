// all or f, then <|content|> and a text or arguments, with <|recipient|> before, which the prompt ends with:
// Functionary v2.

#include "server/tools/call_grammar.h"
#include "server/tools/recipient_parser.h"

namespace millrace::server::tools::formats {
namespace {

constexpr std::string_view kFrom = "<|from|>", kRecipient = "<|recipient|>", kContent = "<|content|>";

int recognise(std::string_view chat_template) { return 3 * (chat_template.find(kRecipient) != std::string_view::npos); }

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return recipient_parser({.head_end = "\n<|content|>", .next = "\n<|from|>assistant\n<|recipient|>"}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence({to.bytes(tool.name + "\n"), to.special(kContent), *arguments});
  });
  if (!call) return call;
  return to.several(*call,
                    to.sequence({to.bytes("\n"), to.special(kFrom), to.bytes("assistant\n"), to.special(kRecipient)}));
}

}  // namespace

ToolFormat functionary_v2() {
  return {.name = "functionary_v2",
          .description = "<|recipient|>f, <|content|>{...}: Functionary v2",
          .aliases = {},
          .recognise = recognise,
          .markers = {kFrom, kRecipient, kContent},
          .always = true,
          .parser = parser,
          .calls = calls,
          .openers = {}};
}

}  // namespace millrace::server::tools::formats
