#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "chat/tools/tool_format.h"

namespace millrace::chat::tools {

// The format of calls that consist of a head with the function's name and the arguments as JSON.
struct NamedCallStyle {
  std::string section_open, section_close;  // around all calls together; may be empty
  std::string call_open, call_close;        // around each call; call_close may be empty
  // Extracts the name from the text between call_open and '{'; empty if there is none.
  std::string_view (*name)(std::string_view head) = nullptr;
  std::string_view ignored_after = " \t\r\n";  // characters that may occur between the arguments and call_close
  std::string_view ignored_between = "";       // characters besides white space that may occur around a section's calls
  bool only_in_section = false;                // outside a section call_open begins nothing
};

std::unique_ptr<ToolParser> named_call_parser(NamedCallStyle style, const ToolUse& use, PartWriter& writer);

}  // namespace millrace::chat::tools
