#include "chat/reasoning/reasoning_format.h"

#include <algorithm>

namespace millrace::chat::reasoning {

Result<const ReasoningFormat*> find_reasoning_format(std::string_view name) {
  std::string names;
  for (const ReasoningFormat& format : all_reasoning_formats()) {
    if (format.name == name || std::ranges::find(format.aliases, name) != format.aliases.end()) return &format;
    names += (names.empty() ? "" : ", ") + std::string(format.name);
    for (const std::string_view alias : format.aliases) names += ", " + std::string(alias);
  }
  return make_error(ErrorCode::kInvalidArgument, "reasoning-parser", "there is no such reasoning parser; there are {}",
                    names);
}

const ReasoningFormat* recognise_reasoning_format(std::string_view chat_template) {
  const ReasoningFormat* best = nullptr;
  int surest = 0;
  for (const ReasoningFormat& format : all_reasoning_formats()) {
    const int sure = format.recognise == nullptr ? 0 : format.recognise(chat_template);
    if (sure <= surest) continue;
    surest = sure;
    best = &format;
  }
  return best;
}

}  // namespace millrace::chat::reasoning
