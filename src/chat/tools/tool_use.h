#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace millrace::chat::tools {

// Limit of the name of a function or argument, in bytes; a longer one is no call.
inline constexpr std::size_t kMaxName = 512;

struct Tool {
  std::string name;
  Json parameters;      // JSON Schema of the arguments; null: any object
  bool strict = false;  // a schema that a grammar cannot express is an error
};

// The calls that a request allows.
struct ToolUse {
  enum class Choice : std::uint8_t { kNone, kAuto, kRequired };
  Choice choice = Choice::kNone;
  bool named = false;       // with kRequired: the request names the function
  bool parallel = true;     // an answer may have several calls
  std::vector<Tool> tools;  // that may be called; the prompt may define more

  const Tool* find(std::string_view name) const {
    for (const Tool& tool : tools) {
      if (tool.name == name) return &tool;
    }
    return nullptr;
  }
};

}  // namespace millrace::chat::tools
