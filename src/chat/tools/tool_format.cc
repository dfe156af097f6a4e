#include "chat/tools/tool_format.h"

#include <algorithm>

namespace millrace::chat::tools {

Result<const ToolFormat*> find_tool_format(std::string_view name) {
  std::string names;
  for (const ToolFormat& format : all_tool_formats()) {
    if (format.name == name || std::ranges::find(format.aliases, name) != format.aliases.end()) return &format;
    names += (names.empty() ? "" : ", ") + std::string(format.name);
    for (const std::string_view alias : format.aliases) names += ", " + std::string(alias);
  }
  return make_error(ErrorCode::kInvalidArgument, "tool-call-parser", "there is no such tool-call parser; there are {}",
                    names);
}

const ToolFormat* recognise_tool_format(std::string_view chat_template) {
  const ToolFormat* best = nullptr;
  int surest = 0;
  for (const ToolFormat& format : all_tool_formats()) {
    const int sure = format.recognise == nullptr ? 0 : format.recognise(chat_template);
    if (sure <= surest) continue;
    surest = sure;
    best = &format;
  }
  return best;
}

}  // namespace millrace::chat::tools
