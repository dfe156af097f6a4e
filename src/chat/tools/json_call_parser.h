#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/marker_matcher.h"
#include "chat/tools/json_call_reader.h"
#include "chat/tools/tool_format.h"

namespace millrace::chat::tools {

// The format of calls that are JSON objects between markers, single or in a list.
struct JsonCallStyle {
  std::vector<std::string> openers;  // any of these
  std::string closer;                // may be empty: a call then ends with the answer, or where other text begins
  bool bare = false;                 // an answer that begins with '{' or '[' may be a call of a known function
};

std::unique_ptr<ToolParser> json_call_parser(JsonCallStyle style, const ToolUse& use, PartWriter& writer);

}  // namespace millrace::chat::tools
