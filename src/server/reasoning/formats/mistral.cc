// [THINK]...[/THINK]: Magistral and later models of Mistral.

#include "server/reasoning/reasoning_format.h"

namespace millrace::server::reasoning::formats {
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

}  // namespace millrace::server::reasoning::formats
