#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/tool_format.h"

namespace millrace::chat::tools {

// The format of answers that consist of messages with heads: HEAD head_end TEXT end start HEAD head_end TEXT ... The
// prompt ends with the first `start`. A head says whether its text is content, reasoning or calls.
struct ChannelStyle {
  enum class Kind : std::uint8_t { kContent, kReasoning, kCalls };
  std::string start;                // "<|start|>assistant"
  std::string head_end;             // "<|message|>"
  std::vector<std::string> ends;    // any of these ends a text
  std::vector<std::string> begins;  // what heads that are not empty begin with; other text is content
  Kind (*kind)(std::string_view head) = nullptr;
  std::string calls_open;  // what a text of calls lacks in front, for `calls` to know it; may be empty
  std::unique_ptr<ToolParser> (*calls)(const ToolUse& use, PartWriter& writer) = nullptr;  // reads one text of calls
};

std::unique_ptr<ToolParser> channel_parser(ChannelStyle style, const ToolUse& use, PartWriter& writer);

}  // namespace millrace::chat::tools
