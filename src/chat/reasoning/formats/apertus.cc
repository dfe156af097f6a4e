// <|inner_prefix|>...<|inner_suffix|>: Apertus.

#include "chat/reasoning/reasoning_format.h"

namespace millrace::chat::reasoning::formats {
namespace {

int recognise(std::string_view chat_template) {
  return 2 * (chat_template.find("<|inner_prefix|>") != std::string_view::npos);
}

}  // namespace

ReasoningFormat apertus() {
  return {.name = "apertus",
          .description = "<|inner_prefix|>...<|inner_suffix|>: Apertus",
          .aliases = {},
          .open = "<|inner_prefix|>",
          .close = "<|inner_suffix|>",
          .recognise = recognise};
}

}  // namespace millrace::chat::reasoning::formats
