#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "chat/tools/tool_format.h"

namespace millrace::chat::tools {

// The format of calls whose arguments are text between tags of their own:
//   open NAME name_end (key_open KEY key_end [value_open] VALUE value_close)* close
// White space may occur between these.
struct TaggedCallStyle {
  std::string section_open, section_close;    // around all calls together, which need them then; may be empty
  std::string open;                           // before a call: "<tool_call>"
  std::string name_open, name_end;            // "<function=", ">"; name_open may be empty
  std::string key_open, key_end, value_open;  // "<parameter=", ">", ""
  std::string value_close;                    // "</parameter>"
  std::string name_close;                     // "</function>"; may be empty
  std::string close;                          // "</tool_call>"
  bool value_lines = false;  // values are on lines of their own: a line feed at each end is not part of the value
};

// A value becomes JSON by its type in the function's schema: a string if the type is string, else the JSON that it is,
// or a string if it is none. Strings are passed on as they arrive.
std::unique_ptr<ToolParser> tagged_call_parser(TaggedCallStyle style, const ToolUse& use, PartWriter& writer);

}  // namespace millrace::chat::tools
