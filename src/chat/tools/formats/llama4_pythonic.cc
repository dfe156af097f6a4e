// [f(a=1, b="x"), g()], the whole answer or between <|python_start|> and <|python_end|>: Llama 4.

#include "chat/tools/pythonic_grammar.h"
#include "chat/tools/pythonic_parser.h"

namespace millrace::chat::tools::formats {
namespace {

int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 2 * (has("<|header_start|>") && has("tools"));
}

std::unique_ptr<ToolParser> parser(const ToolUse& use, PartWriter& writer) {
  return pythonic_parser({.openers = {"<|python_start|>"}, .closer = "<|python_end|>"}, use, writer);
}

}  // namespace

ToolFormat llama4_pythonic() {
  return {.name = "llama4_pythonic",
          .description = "[f(a=1, b=\"x\")], alone or between <|python_start|> and <|python_end|>: Llama 4",
          .aliases = {},
          .recognise = recognise,
          .markers = {"<|python_start|>", "<|python_end|>"},
          .parser = parser,
          .calls = pythonic_calls,
          .openers = {"<|python_start|>"},
          .begins_with = '[',
          .closer = "<|python_end|>"};
}

}  // namespace millrace::chat::tools::formats
