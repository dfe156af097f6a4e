// <toolcall> {"name", "arguments"} </toolcall>: Nemotron-Mini, whose template does not spell calls.

#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 2 * (has("<extra_id_1>") && has("<tool> "));
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {"<toolcall>"}, .closer = "</toolcall>"}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) { return to.json_call(tool); });
  if (!call) return call;
  const auto tagged = to.sequence({to.special("<toolcall>"), to.space(), *call, to.space(), to.special("</toolcall>")});
  return to.several(tagged, to.space());
}

}  // namespace

ToolFormat nemotron_mini() {
  return {.name = "nemotron_mini",
          .description = "<toolcall> {\"name\", \"arguments\"} </toolcall>: Nemotron-Mini",
          .aliases = {},
          .recognise = recognise,
          .markers = {"<toolcall>", "</toolcall>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<toolcall>"}};
}

}  // namespace millrace::chat::tools::formats
