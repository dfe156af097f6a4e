// <seed:think>...</seed:think>: Seed-OSS.

#include "chat/reasoning/reasoning_format.h"

namespace millrace::chat::reasoning::formats {
namespace {

int recognise(std::string_view chat_template) {
  return 2 * (chat_template.find("<seed:think>") != std::string_view::npos);
}

}  // namespace

ReasoningFormat seed_oss() {
  return {.name = "seed_oss",
          .description = "<seed:think>...</seed:think>: Seed-OSS",
          .aliases = {},
          .open = "<seed:think>",
          .close = "</seed:think>",
          .recognise = recognise};
}

}  // namespace millrace::chat::reasoning::formats
