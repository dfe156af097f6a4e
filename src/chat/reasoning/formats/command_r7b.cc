// <|START_THINKING|>...<|END_THINKING|>: Command R7B and Command A Reasoning.

#include "chat/reasoning/reasoning_format.h"

namespace millrace::chat::reasoning::formats {
namespace {

int recognise(std::string_view chat_template) {
  return 2 * (chat_template.find("<|START_THINKING|>") != std::string_view::npos);
}

}  // namespace

ReasoningFormat command_r7b() {
  return {.name = "command_r7b",
          .description = "<|START_THINKING|>...<|END_THINKING|>: Command A Reasoning",
          .aliases = {"cohere_command3"},
          .open = "<|START_THINKING|>",
          .close = "<|END_THINKING|>",
          .recognise = recognise};
}

}  // namespace millrace::chat::reasoning::formats
