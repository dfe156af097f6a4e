// <TOOLCALL>[{"name", "arguments"}]</TOOLCALL>: Llama-Nemotron and Nemotron Nano.

#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  return 3 * (chat_template.find("<TOOLCALL>") != std::string_view::npos);
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {"<TOOLCALL>"}, .closer = "</TOOLCALL>"}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) { return to.json_call(tool); });
  if (!call) return call;
  const auto comma = to.sequence({to.space(), to.bytes(","), to.space()});
  return to.sequence({to.special("<TOOLCALL>"), to.space(), to.bytes("["), to.space(), to.several(*call, comma),
                      to.space(), to.bytes("]"), to.space(), to.special("</TOOLCALL>")});
}

}  // namespace

ToolFormat nemotron() {
  return {.name = "nemotron",
          .description = "<TOOLCALL>[{\"name\", \"arguments\"}]</TOOLCALL>: Llama-Nemotron, Nemotron Nano",
          .aliases = {"nemotron_json", "llama_nemotron_json"},
          .recognise = recognise,
          .markers = {"<TOOLCALL>", "</TOOLCALL>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<TOOLCALL>"}};
}

}  // namespace millrace::chat::tools::formats
