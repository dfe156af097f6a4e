// <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f, the arguments in a ```json block,
// <｜tool▁call▁end｜> ... <｜tool▁calls▁end｜>: DeepSeek V2.5, V3 and R1.

#include "chat/tools/call_grammar.h"
#include "chat/tools/named_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::string_view kCallsBegin = "<｜tool▁calls▁begin｜>", kCallsEnd = "<｜tool▁calls▁end｜>";
constexpr std::string_view kCallBegin = "<｜tool▁call▁begin｜>", kCallEnd = "<｜tool▁call▁end｜>";
constexpr std::string_view kSeparator = "<｜tool▁sep｜>";

int recognise(std::string_view chat_template) {
  return 2 * (chat_template.find("<｜tool▁calls▁begin｜>") != std::string_view::npos);
}

std::string_view name_in(std::string_view head) {
  const std::size_t separator = head.find(kSeparator);
  if (separator == std::string_view::npos) return {};
  head.remove_prefix(separator + kSeparator.size());
  return head.substr(0, head.find_first_of("\n "));
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return named_call_parser({.section_open = std::string(kCallsBegin),
                            .section_close = std::string(kCallsEnd),
                            .call_open = std::string(kCallBegin),
                            .call_close = std::string(kCallEnd),
                            .name = name_in,
                            .ignored_after = " \t\r\n`"},
                           use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence({to.special(kCallBegin), to.bytes("function"), to.special(kSeparator),
                        to.bytes(tool.name + "\n```json\n"), *arguments, to.bytes("\n```"), to.special(kCallEnd)});
  });
  if (!call) return call;
  return to.sequence(
      {to.special(kCallsBegin), to.several(*call, to.grammar().optional(to.bytes("\n"))), to.special(kCallsEnd)});
}

}  // namespace

ToolFormat deepseek_v3() {
  return {.name = "deepseek_v3",
          .description = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f and a ```json block: DeepSeek V2.5, V3, R1",
          .aliases = {"deepseek_r1"},
          .recognise = recognise,
          .markers = {kCallsBegin, kCallsEnd, kCallBegin, kCallEnd, kSeparator},
          .parser = parser,
          .calls = calls,
          .openers = {kCallsBegin}};
}

}  // namespace millrace::chat::tools::formats
