// [f(a=1, b="x"), g()], the whole answer: Llama 3.2 small, Gemma 3, ToolACE.

#include "chat/tools/pythonic_grammar.h"
#include "chat/tools/pythonic_parser.h"

namespace millrace::chat::tools::formats {
namespace {

// The example that templates for this format give.
int recognise(std::string_view chat_template) { return chat_template.find("[func_name1(") != std::string_view::npos; }

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return pythonic_parser({.openers = {"<function_calls>"}, .closer = "</function_calls>"}, use, writer);
}

}  // namespace

ToolFormat pythonic() {
  return {.name = "pythonic",
          .description = "[f(a=1, b=\"x\")], the whole answer: Llama 3.2 small, Gemma 3, ToolACE",
          .aliases = {},
          .recognise = recognise,
          .markers = {"<function_calls>", "</function_calls>"},
          .parser = parser,
          .calls = pythonic_calls,
          .openers = {"<function_calls>"},
          .begins_with = '[',
          .closer = "</function_calls>"};
}

}  // namespace millrace::chat::tools::formats
