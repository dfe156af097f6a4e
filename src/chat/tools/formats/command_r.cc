// Action: and a list of {"tool_name", "parameters"} in a ```json block: Command R and R+.

#include "chat/tools/call_grammar.h"
#include "chat/tools/json_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

// The word alone is text.
constexpr std::string_view kOpeners[] = {"Action: ```json", "Action:```json", "Action:\n```json"};

int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 2 * (has("<|CHATBOT_TOKEN|>") && has("Action:") && has("tool_name"));
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return json_call_parser({.openers = {std::begin(kOpeners), std::end(kOpeners)}, .closer = "```"}, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) { return to.json_call(tool, "tool_name", "parameters"); });
  if (!call) return call;
  const auto comma = to.sequence({to.space(), to.bytes(","), to.space()});
  std::vector<grammar::ExpressionId> openers;
  for (const std::string_view opener : kOpeners) openers.push_back(to.bytes(opener));
  return to.sequence({to.grammar().choice(std::move(openers)), to.space(), to.bytes("["), to.space(),
                      to.several(*call, comma), to.space(), to.bytes("]"), to.space(), to.bytes("```")});
}

}  // namespace

ToolFormat command_r() {
  return {.name = "command_r",
          .description = "Action: and [{\"tool_name\", \"parameters\"}] in a ```json block: Command R and R+",
          .aliases = {},
          .recognise = recognise,
          .markers = {},
          .parser = parser,
          .calls = calls,
          .openers = {std::begin(kOpeners), std::end(kOpeners)}};
}

}  // namespace millrace::chat::tools::formats
