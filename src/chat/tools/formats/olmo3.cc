// <function_calls>, on each line a call in Python's syntax, </function_calls>: OLMo 3.

#include "chat/tools/pythonic_grammar.h"
#include "chat/tools/pythonic_parser.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::string_view kOpen = "<function_calls>", kClose = "</function_calls>";

int recognise(std::string_view chat_template) { return 3 * (chat_template.find(kOpen) != std::string_view::npos); }

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return pythonic_parser({.openers = {std::string(kOpen)}, .closer = std::string(kClose), .lines = true}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = pythonic_call(to);
  if (!call) return call;
  return to.sequence(
      {to.special(kOpen), to.space(), to.several(*call, to.bytes("\n")), to.space(), to.special(kClose)});
}

}  // namespace

ToolFormat olmo3() {
  return {.name = "olmo3",
          .description = "<function_calls> and a call f(a=1, b=\"x\") on each line: OLMo 3",
          .aliases = {},
          .recognise = recognise,
          .markers = {kOpen, kClose},
          .parser = parser,
          .calls = calls,
          .openers = {kOpen}};
}

}  // namespace millrace::chat::tools::formats
