// <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{...}<｜tool▁call▁end｜> ... <｜tool▁calls▁end｜>: DeepSeek
// V3.1.

#include "chat/tools/call_grammar.h"
#include "chat/tools/named_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::string_view kCallsBegin = "<｜tool▁calls▁begin｜>", kCallsEnd = "<｜tool▁calls▁end｜>";
constexpr std::string_view kCallBegin = "<｜tool▁call▁begin｜>", kCallEnd = "<｜tool▁call▁end｜>";
constexpr std::string_view kSeparator = "<｜tool▁sep｜>";

// Unlike its forerunners' template, this one writes no kind of call before the name.
int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 3 * (has("<｜tool▁calls▁begin｜>") && !has("```json") && !has("function<｜tool▁sep｜>") &&
              !has("tool['type']") && !has("tool.type"));
}

std::string_view name_in(std::string_view head) {
  const std::size_t separator = head.find(kSeparator);
  return separator == std::string_view::npos ? std::string_view() : head.substr(0, separator);
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
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence(
        {to.special(kCallBegin), to.bytes(tool.name), to.special(kSeparator), *arguments, to.special(kCallEnd)});
  });
  if (!call) return call;
  return to.sequence({to.special(kCallsBegin), to.several(*call, to.bytes("")), to.special(kCallsEnd)});
}

}  // namespace

ToolFormat deepseek_v31() {
  return {.name = "deepseek_v31",
          .description = "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{...}: DeepSeek V3.1",
          .aliases = {},
          .recognise = recognise,
          .markers = {kCallsBegin, kCallsEnd, kCallBegin, kCallEnd, kSeparator},
          .parser = parser,
          .calls = calls,
          .openers = {kCallsBegin}};
}

}  // namespace millrace::chat::tools::formats
