// <|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{...}<|tool_call_end|> ...
// <|tool_calls_section_end|>: Kimi K2.

#include "chat/tools/call_grammar.h"
#include "chat/tools/named_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::string_view kCallsBegin = "<|tool_calls_section_begin|>", kCallsEnd = "<|tool_calls_section_end|>";
constexpr std::string_view kCallBegin = "<|tool_call_begin|>", kCallEnd = "<|tool_call_end|>";
constexpr std::string_view kArguments = "<|tool_call_argument_begin|>";

int recognise(std::string_view chat_template) {
  return 2 * (chat_template.find(kCallsBegin) != std::string_view::npos);
}

// "functions.f:0<|tool_call_argument_begin|>"
std::string_view name_in(std::string_view head) {
  const std::size_t end = head.find(kArguments);
  if (end == std::string_view::npos) return {};
  head = head.substr(0, end);
  while (!head.empty() && head.front() == ' ') head.remove_prefix(1);
  while (!head.empty() && head.back() == ' ') head.remove_suffix(1);
  if (head.starts_with("functions.")) head.remove_prefix(10);
  return head.substr(0, head.rfind(':'));
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return named_call_parser({.section_open = std::string(kCallsBegin),
                            .section_close = std::string(kCallsEnd),
                            .call_open = std::string(kCallBegin),
                            .call_close = std::string(kCallEnd),
                            .name = name_in},
                           use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  unicode::CodePointSet digits;
  digits.add(U'0', U'9');
  const auto number = to.grammar().repeat(to.grammar().character(digits), 1, 4);
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence({to.special(kCallBegin), to.bytes("functions." + tool.name + ":"), number,
                        to.special(kArguments), *arguments, to.special(kCallEnd)});
  });
  if (!call) return call;
  return to.sequence({to.special(kCallsBegin), to.several(*call, to.bytes("")), to.special(kCallsEnd)});
}

}  // namespace

ToolFormat kimi_k2() {
  return {.name = "kimi_k2",
          .description = "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{...}: Kimi K2",
          .aliases = {},
          .recognise = recognise,
          .markers = {kCallsBegin, kCallsEnd, kCallBegin, kCallEnd, kArguments},
          .ids = CallIds::kNamed,
          .parser = parser,
          .calls = calls,
          .openers = {kCallsBegin}};
}

}  // namespace millrace::chat::tools::formats
