// <think>...</think><answer>...</answer>: HunYuan, up to A13B.

#include "chat/reasoning/reasoning_format.h"

namespace millrace::chat::reasoning::formats {
namespace {

// Some of its templates do not spell the answer's words.
int recognise(std::string_view chat_template) {
  const auto has = [&](std::string_view word) { return chat_template.find(word) != std::string_view::npos; };
  return 2 * (has("think>") && !has("<tool_sep>") && (has("<answer>") || has("<｜hy_") || has("<|extra_4|>")));
}

}  // namespace

ReasoningFormat hunyuan() {
  return {.name = "hunyuan",
          .description = "<think>...</think><answer>...</answer>: HunYuan",
          .aliases = {"hunyuan_a13b"},
          .open = "<think>",
          .close = "</think>",
          .answer_open = "<answer>",
          .answer_close = "</answer>",
          .recognise = recognise};
}

}  // namespace millrace::chat::reasoning::formats
