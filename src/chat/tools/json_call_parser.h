#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/marker_matcher.h"
#include "chat/tools/json_call_reader.h"
#include "chat/tools/tool_format.h"

namespace millrace::chat::tools {

// Calls as JSON objects, alone or in a list, between markers.
struct JsonCallStyle {
  std::vector<std::string> openers;  // any of these
  std::string closer;                // may be empty: the end of the answer, or other text
  bool bare = false;                 // an answer that begins with '{' or '[' may be a call too: of known functions only
};

std::unique_ptr<ToolParser> json_call_parser(JsonCallStyle style, const ToolUse& use, PartWriter& writer);

}  // namespace millrace::chat::tools
