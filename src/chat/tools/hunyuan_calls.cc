#include "chat/tools/hunyuan_calls.h"

#include "chat/tools/tagged_call_parser.h"

namespace millrace::chat::tools {
namespace {

// "<name:opensource>", or with '/' in `begin` "</name:opensource>".
std::string word(const char* begin, std::string_view suffix) { return std::string(begin).append(suffix) + ">"; }

}  // namespace

std::unique_ptr<ToolParser> hunyuan_call_parser(std::string_view suffix, const ToolUse& use, PartWriter& writer) {
  return tagged_call_parser({.section_open = word("<tool_calls", suffix),
                             .section_close = word("</tool_calls", suffix),
                             .open = word("<tool_call", suffix),
                             .name_open = "",
                             .name_end = word("<tool_sep", suffix),
                             .key_open = word("<arg_key", suffix),
                             .key_end = word("</arg_key", suffix),
                             .value_open = word("<arg_value", suffix),
                             .value_close = word("</arg_value", suffix),
                             .name_close = "",
                             .close = word("</tool_call", suffix)},
                            use, writer);
}

Result<grammar::ExpressionId> hunyuan_calls(std::string_view suffix, CallGrammar& to) {
  const auto special = [&](const char* begin) { return to.special(word(begin, suffix)); };
  const auto line = to.bytes("\n");
  auto call = to.any([&](const Tool& tool) -> Result<grammar::ExpressionId> {
    const auto spell = [&](const CallGrammar::Property& property) -> Result<grammar::ExpressionId> {
      auto value = to.tagged_value(property, tool.strict, word("</arg_value", suffix));
      if (!value) return value;
      return to.sequence({special("<arg_key"), to.bytes(property.name), special("</arg_key"), line,
                          special("<arg_value"), *value, line});
    };
    auto members = to.properties(tool, to.bytes(""), spell, to.bytes(""));
    if (!members) return members;
    return to.sequence({special("<tool_call"), to.bytes(tool.name), special("<tool_sep"), line, *members,
                        special("</tool_call"), line});
  });
  if (!call) return call;
  return to.sequence({special("<tool_calls"), line, to.several(*call, to.bytes("")), special("</tool_calls")});
}

}  // namespace millrace::chat::tools
