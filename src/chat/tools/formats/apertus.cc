// <|tools_prefix|>[{"f": {...}}, ...]<|tools_suffix|>: Apertus.

#include "chat/tools/call_grammar.h"
#include "chat/tools/named_call_parser.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::string_view kOpen = "<|tools_prefix|>", kClose = "<|tools_suffix|>";

int recognise(std::string_view chat_template) { return 3 * (chat_template.find(kOpen) != std::string_view::npos); }

// Of ` "f": `.
std::string_view name_in(std::string_view head) {
  const std::size_t open = head.find_first_not_of(" \t\r\n");
  if (open == std::string_view::npos || head[open] != '"') return {};
  const std::size_t close = head.find('"', open + 1);
  if (close == std::string_view::npos) return {};
  const std::size_t colon = head.find_first_not_of(" \t\r\n", close + 1);
  const bool ends = colon != std::string_view::npos && head[colon] == ':' &&
                    head.find_first_not_of(" \t\r\n", colon + 1) == std::string_view::npos;
  return ends ? head.substr(open + 1, close - open - 1) : std::string_view();
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return named_call_parser({.section_open = std::string(kOpen),
                            .section_close = std::string(kClose),
                            .call_open = "{",
                            .call_close = "}",
                            .name = name_in,
                            .ignored_between = "[,]",
                            .only_in_section = true},
                           use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    auto arguments = to.arguments(tool);
    if (!arguments) return arguments;
    return to.sequence({to.bytes("{" + json_string(tool.name) + ": "), *arguments, to.bytes("}")});
  });
  if (!call) return call;
  const auto comma = to.sequence({to.bytes(","), to.space()});
  return to.sequence({to.special(kOpen), to.bytes("["), to.several(*call, comma), to.bytes("]"), to.special(kClose)});
}

}  // namespace

ToolFormat apertus() {
  return {.name = "apertus",
          .description = "<|tools_prefix|>[{\"f\": {...}}]<|tools_suffix|>: Apertus",
          .aliases = {},
          .recognise = recognise,
          .markers = {kOpen, kClose},
          .parser = parser,
          .calls = calls,
          .openers = {kOpen}};
}

}  // namespace millrace::chat::tools::formats
