// <function=f>{...}</function>: Functionary v3.1, and Llama models that were trained so.

#include "chat/tools/call_grammar.h"
#include "chat/tools/named_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 3 * (has("<function=") && has("</function>") && !has("<parameter="));
}

std::string_view name_in(std::string_view head) {
  const std::size_t end = head.find('>');
  return end == std::string_view::npos ? std::string_view() : head.substr(0, end);
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return named_call_parser({.section_open = "",
                            .section_close = "",
                            .call_open = "<function=",
                            .call_close = "</function>",
                            .name = name_in},
                           use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence({to.bytes("<function=" + tool.name + ">"), *arguments, to.bytes("</function>")});
  });
  if (!call) return call;
  return to.several(*call, to.space());
}

}  // namespace

ToolFormat functionary_v3_1() {
  return {.name = "functionary_v3_1",
          .description = "<function=f>{...}</function>: Functionary v3.1",
          .aliases = {"functionary_v3.1", "llama3_function"},
          .recognise = recognise,
          .markers = {},
          .parser = parser,
          .calls = calls,
          .openers = {"<function="}};
}

}  // namespace millrace::chat::tools::formats
