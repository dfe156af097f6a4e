#include "chat/tools/hunyuan_calls.h"

#include "chat/tools/tagged_call_parser.h"
#include "chat/tools/tagged_grammar.h"

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
  auto call =
      tagged_call(to, {.open =
                           [&](const std::string& name) {
                             return to.sequence({special("<tool_call"), to.bytes(name), special("<tool_sep"), line});
                           },
                       .key =
                           [&](const std::string& name) {
                             return to.sequence({special("<arg_key"), to.bytes(name), special("</arg_key"), line,
                                                 special("<arg_value")});
                           },
                       .value_close = word("</arg_value", suffix),
                       .after_value = line,
                       .between = to.bytes(""),
                       .close = to.sequence({special("</tool_call"), line})});
  if (!call) return call;
  return to.sequence({special("<tool_calls"), line, to.several(*call, to.bytes("")), special("</tool_calls")});
}

}  // namespace millrace::chat::tools
