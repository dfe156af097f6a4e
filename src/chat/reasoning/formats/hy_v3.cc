// <think:opensource>...</think:opensource>: Hunyuan 3.

#include "chat/reasoning/reasoning_format.h"

namespace millrace::chat::reasoning::formats {
namespace {

// Its template puts the suffix into each word when it renders.
int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 2 * ((has("<think{}>") && has(":opensource")) || has("<think:opensource>"));
}

}  // namespace

ReasoningFormat hy_v3() {
  return {.name = "hy_v3",
          .description = "<think:opensource>...</think:opensource>: Hunyuan 3",
          .aliases = {},
          .open = "<think:opensource>",
          .close = "</think:opensource>",
          .recognise = recognise};
}

}  // namespace millrace::chat::reasoning::formats
