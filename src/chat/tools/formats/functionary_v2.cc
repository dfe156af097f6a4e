// all or f, then <|content|> and a text or arguments, with <|recipient|> before, which the prompt ends with:
// Functionary v2.

#include "chat/tools/call_grammar.h"
#include "chat/tools/recipient_parser.h"

namespace millrace::chat::tools::formats {
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

// To everybody, until the next part says that it is from the assistant to a function.
Result<grammar::ExpressionId> answer(CallGrammar& to) {
  auto called = calls(to);
  if (!called) return called;
  auto text = to.text_without({"\n" + std::string(kFrom)});
  if (!text) return text;
  const auto then =
      to.sequence({to.bytes("\n"), to.special(kFrom), to.bytes("assistant\n"), to.special(kRecipient), *called});
  return to.grammar().choice(
      {*called, to.sequence({to.bytes("all\n"), to.special(kContent), *text, to.grammar().optional(then)})});
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
          .answer = answer};
}

}  // namespace millrace::chat::tools::formats
