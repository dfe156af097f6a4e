// <think>...</think><response>...</response>: ERNIE 4.5. MiniMax M2 has that word around the results of tools.

#include "chat/reasoning/reasoning_format.h"

namespace millrace::chat::reasoning::formats {
namespace {

int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 2 * (has("think>") && has("<response>") && !has("<minimax:tool_call>"));
}

}  // namespace

ReasoningFormat ernie45() {
  return {.name = "ernie45",
          .description = "<think>...</think><response>...</response>: ERNIE 4.5",
          .aliases = {},
          .open = "<think>",
          .close = "</think>",
          .answer_open = "<response>",
          .answer_close = "</response>",
          .recognise = recognise};
}

}  // namespace millrace::chat::reasoning::formats
