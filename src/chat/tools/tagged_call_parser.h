#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "chat/tools/tool_format.h"

namespace millrace::chat::tools {

// Calls whose arguments stand each between tags of their own, as text:
//   open NAME name_end (key_open KEY key_end [value_open] VALUE value_close)* close
// White space may stand between these.
struct TaggedCallStyle {
  std::string open;                           // of a call: "<tool_call>"
  std::string name_open, name_end;            // "<function=", ">"; name_open may be empty
  std::string key_open, key_end, value_open;  // "<parameter=", ">", ""
  std::string value_close;                    // "</parameter>"
  std::string name_close;                     // "</function>"; may be empty
  std::string close;                          // "</tool_call>"
  bool value_lines = false;                   // a value stands on lines of its own: a line feed at each end is not its
};

// A value becomes JSON as the function's schema has its type: text where that says string, else the JSON that it is, or
// text where it is none. Texts go on as they come.
std::unique_ptr<ToolParser> tagged_call_parser(TaggedCallStyle style, const ToolUse& use, PartWriter& writer);

}  // namespace millrace::chat::tools
