// <minimax:tool_call>, then <invoke name="f"><parameter name="a">1</parameter></invoke> for each call,
// </minimax:tool_call>: MiniMax M2.

#include "chat/tools/call_grammar.h"
#include "chat/tools/tagged_call_parser.h"
#include "chat/tools/tagged_grammar.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::string_view kOpen = "<minimax:tool_call>", kClose = "</minimax:tool_call>";

int recognise(std::string_view chat_template) { return 3 * (chat_template.find(kOpen) != std::string_view::npos); }

// Values stand between their tags as they are: line feeds at their ends are theirs.
std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return tagged_call_parser({.section_open = std::string(kOpen),
                             .section_close = std::string(kClose),
                             .open = "<invoke name=\"",
                             .name_open = "",
                             .name_end = "\">",
                             .key_open = "<parameter name=\"",
                             .key_end = "\">",
                             .value_open = "",
                             .value_close = "</parameter>",
                             .name_close = "",
                             .close = "</invoke>"},
                            use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call =
      tagged_call(to, {.open = [&](const std::string& name) { return to.bytes("<invoke name=\"" + name + "\">\n"); },
                       .key = [&](const std::string& name) { return to.bytes("<parameter name=\"" + name + "\">"); },
                       .value_close = "</parameter>",
                       .after_value = to.bytes("\n"),
                       .between = to.bytes(""),
                       .close = to.bytes("</invoke>\n")});
  if (!call) return call;
  return to.sequence({to.special(kOpen), to.bytes("\n"), to.several(*call, to.bytes("")), to.special(kClose)});
}

}  // namespace

ToolFormat minimax_m2() {
  return {
      .name = "minimax_m2",
      .description = "<minimax:tool_call><invoke name=\"f\"><parameter name=\"a\">1</parameter></invoke>: MiniMax M2",
      .aliases = {"minimax-m2"},
      .recognise = recognise,
      .markers = {kOpen, kClose},
      .parser = parser,
      .calls = calls,
      .openers = {kOpen}};
}

}  // namespace millrace::chat::tools::formats
