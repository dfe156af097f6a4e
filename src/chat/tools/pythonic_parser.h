#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/tool_format.h"

namespace millrace::chat::tools {

// The format of calls in Python's syntax: [f(a=1, b="x"), g()]. Arguments become JSON as they arrive. An answer that
// begins with a list of calls of known functions needs no markers; elsewhere the list must be between them.
struct PythonicStyle {
  std::vector<std::string> openers;  // one of these begins it
  std::string closer;                // may be empty, but not with `lines`
  bool lines = false;                // no brackets: each call is on a line of its own, and markers are required
};

std::unique_ptr<ToolParser> pythonic_parser(PythonicStyle style, const ToolUse& use, PartWriter& writer);

}  // namespace millrace::chat::tools
