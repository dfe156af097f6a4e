#pragma once

#include <memory>
#include <string>

#include "chat/tools/tool_format.h"

namespace millrace::chat::tools {

// The format of answers in parts with recipients: NAME head_end TEXT next NAME head_end TEXT ... The name `everybody`
// is the user; any other is a function, and the text its arguments as JSON. The prompt ends where the first name
// begins.
struct RecipientStyle {
  std::string head_end;           // "\n"
  std::string next;               // ">>>"
  std::string everybody = "all";  // empty: text has an empty head, or none
};

std::unique_ptr<ToolParser> recipient_parser(RecipientStyle style, const ToolUse& use, PartWriter& writer);

}  // namespace millrace::chat::tools
