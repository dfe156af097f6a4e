// [THINK]...[/THINK]: Magistral and later models of Mistral.

#include "chat/reasoning/reasoning_format.h"

namespace millrace::chat::reasoning::formats {
namespace {

int recognise(std::string_view chat_template) { return 2 * (chat_template.find("[THINK]") != std::string_view::npos); }

}  // namespace

ReasoningFormat mistral() {
  return {.name = "mistral",
          .description = "[THINK]...[/THINK]: Magistral",
          .aliases = {},
          .open = "[THINK]",
          .close = "[/THINK]",
          .recognise = recognise};
}

}  // namespace millrace::chat::reasoning::formats
