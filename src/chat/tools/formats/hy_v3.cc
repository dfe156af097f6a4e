// <tool_calls:opensource><tool_call:opensource>f<tool_sep:opensource>, then each argument between tags of its own:
// Hunyuan 3.

#include "chat/tools/hunyuan_calls.h"

namespace millrace::chat::tools::formats {
namespace {

constexpr std::string_view kSuffix = ":opensource";

// Its template puts the suffix into each word when it renders.
int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 5 * ((has("<tool_sep{}>") && has(kSuffix)) || has("<tool_sep:opensource>"));
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return hunyuan_call_parser(kSuffix, use, writer);
}

Result<grammar::ExpressionId> calls(CallGrammar& to) { return hunyuan_calls(kSuffix, to); }

}  // namespace

ToolFormat hy_v3() {
  return {.name = "hy_v3",
          .description = "<tool_call:opensource>f<tool_sep:opensource><arg_key:opensource>...: Hunyuan 3",
          .aliases = {},
          .recognise = recognise,
          .markers = {"<tool_calls:opensource>", "</tool_calls:opensource>", "<tool_call:opensource>",
                      "</tool_call:opensource>", "<tool_sep:opensource>", "<arg_key:opensource>",
                      "</arg_key:opensource>", "<arg_value:opensource>", "</arg_value:opensource>"},
          .parser = parser,
          .calls = calls,
          .openers = {"<tool_calls:opensource>"}};
}

}  // namespace millrace::chat::tools::formats
