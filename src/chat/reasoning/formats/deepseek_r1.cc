// <think>...</think>: DeepSeek R1 and V3.1, Qwen 3, QwQ, GLM 4.5, Kimi, Nemotron and most others.

#include "chat/reasoning/reasoning_format.h"

namespace millrace::chat::reasoning::formats {
namespace {

int recognise(std::string_view chat_template) {
  return chat_template.find("<think>") != std::string_view::npos ||
         chat_template.find("</think>") != std::string_view::npos;
}

}  // namespace

ReasoningFormat deepseek_r1() {
  return {.name = "deepseek_r1",
          .description = "<think>...</think>: DeepSeek, Qwen 3, GLM, Kimi, Nemotron and most others",
          .aliases = {"qwen3", "deepseek_v3", "kimi_k2", "glm45", "nemotron_v3", "exaone4", "smollm3", "olmo3",
                      "minimax_m2", "mimo", "poolside_v1"},
          .open = "<think>",
          .close = "</think>",
          .recognise = recognise};
}

}  // namespace millrace::chat::reasoning::formats
