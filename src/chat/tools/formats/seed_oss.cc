// <seed:tool_call><function=f><parameter=a>1</parameter> ... </function></seed:tool_call>: Seed-OSS.

#include "chat/tools/call_grammar.h"
#include "chat/tools/tagged_call_parser.h"
#include "chat/tools/tagged_grammar.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::string_view kOpen = "<seed:tool_call>", kClose = "</seed:tool_call>";

int recognise(std::string_view chat_template) { return 3 * (chat_template.find(kOpen) != std::string_view::npos); }

// Values stand between their tags as they are: line feeds at their ends are theirs.
std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return tagged_call_parser({.open = std::string(kOpen),
                             .name_open = "<function=",
                             .name_end = ">",
                             .key_open = "<parameter=",
                             .key_end = ">",
                             .value_open = "",
                             .value_close = "</parameter>",
                             .name_close = "</function>",
                             .close = std::string(kClose)},
                            use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) {
  auto call = tagged_call(to, {.open =
                                   [&](const std::string& name) {
                                     return to.sequence({to.special(kOpen), to.bytes("\n<function=" + name + ">\n")});
                                   },
                               .key = [&](const std::string& name) { return to.bytes("<parameter=" + name + ">"); },
                               .value_close = "</parameter>",
                               .after_value = to.bytes("\n"),
                               .between = to.bytes(""),
                               .close = to.sequence({to.bytes("</function>\n"), to.special(kClose)})});
  if (!call) return call;
  return to.several(*call, to.space());
}

}  // namespace

ToolFormat seed_oss() {
  return {.name = "seed_oss",
          .description = "<seed:tool_call><function=f><parameter=a>1</parameter></function></seed:tool_call>: Seed-OSS",
          .aliases = {},
          .recognise = recognise,
          .markers = {kOpen, kClose},
          .parser = parser,
          .calls = calls,
          .openers = {kOpen}};
}

}  // namespace millrace::chat::tools::formats
