// [f(a=1, b="x"), g()], the whole answer: Llama 3.2 small, ToolACE, OLMo 3.

#include "chat/tools/pythonic_grammar.h"
#include "chat/tools/pythonic_parser.h"

namespace millrace::chat::tools::formats {
namespace {

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return pythonic_parser({.openers = {"<function_calls>"}, .closer = "</function_calls>"}, use, writer);
}

}  // namespace

ToolFormat pythonic() {
  return {.name = "pythonic",
          .description = "[f(a=1, b=\"x\")], the whole answer: Llama 3.2 small, ToolACE, OLMo 3",
          .aliases = {"olmo3"},
          .markers = {"<function_calls>", "</function_calls>"},
          .parser = parser,
          .calls = pythonic_calls,
          .openers = {"<function_calls>"},
          .begins_with = '[',
          .closer = "</function_calls>"};
}

}  // namespace millrace::chat::tools::formats
