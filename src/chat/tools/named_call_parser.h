#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "chat/tools/tool_format.h"

namespace millrace::chat::tools {

// Calls as a head that has the function's name, and then the arguments as JSON.
struct NamedCallStyle {
  std::string section_open, section_close;  // around all calls; may be empty
  std::string call_open, call_close;        // around one; call_close may be empty
  // The name in what stands between call_open and '{'; empty where there is none.
  std::string_view (*name)(std::string_view head) = nullptr;
  std::string_view ignored_after = " \t\r\n";  // characters that may stand between arguments and call_close
};

std::unique_ptr<ToolParser> named_call_parser(NamedCallStyle style, const ToolUse& use, PartWriter& writer);

}  // namespace millrace::chat::tools
