// Two sentences around it: Granite 3.2. Later ones have <think>.

#include "chat/reasoning/reasoning_format.h"

namespace millrace::chat::reasoning::formats {
namespace {

int recognise(std::string_view chat_template) {
  return 2 * (chat_template.find("Here is my thought process") != std::string_view::npos);
}

}  // namespace

ReasoningFormat granite() {
  return {.name = "granite",
          .description = "Here is my thought process: ... Here is my response: Granite 3.2",
          .aliases = {},
          .open = "Here is my thought process:",
          .close = "Here is my response:",
          .recognise = recognise};
}

}  // namespace millrace::chat::reasoning::formats
