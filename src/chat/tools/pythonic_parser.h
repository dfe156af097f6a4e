#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/tool_format.h"

namespace millrace::chat::tools {

// Calls as Python writes them: [f(a=1, b="x"), g()]. Arguments become JSON as they come. An answer that begins with
// such a list, of known functions, is one; elsewhere it must stand between the markers.
struct PythonicStyle {
  std::vector<std::string> openers;  // any of these
  std::string closer;                // may be empty
};

std::unique_ptr<ToolParser> pythonic_parser(PythonicStyle style, const ToolUse& use, PartWriter& writer);

}  // namespace millrace::chat::tools
