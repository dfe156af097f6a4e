// {"name": "f", "parameters": {...}}, the whole answer or after <|python_tag|>; several with "; " between: Llama 3.1 to
// 3.3.

#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  if (has("<|python_tag|>") && has("<|start_header_id|>")) return 2;
  return has("<|start_header_id|>") && has("\"parameters\": ");
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {"<|python_tag|>"}, .closer = "", .bare = true}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) { return to.json_call(tool, "name", "parameters"); });
  if (!call) return call;
  return to.several(*call, to.bytes("; "));
}

}  // namespace

ToolFormat llama3_json() {
  return {.name = "llama3_json",
          .description = "{\"name\", \"parameters\"}, the whole answer or after <|python_tag|>: Llama 3.1 to 3.3",
          .aliases = {"llama4_json"},
          .recognise = recognise,
          .markers = {"<|python_tag|>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<|python_tag|>"},
          .begins_with = '{'};
}

}  // namespace millrace::chat::tools::formats
