#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace millrace::chat::tools {

inline constexpr std::size_t kMaxName = 512;  // bytes, of a function and of an argument; a longer one is no call

struct Tool {
  std::string name;
  Json parameters;      // JSON Schema of the arguments; null: any object
  bool strict = false;  // a schema that cannot be kept to is an error
};

// What a request lets the model call.
struct ToolUse {
  enum class Choice : std::uint8_t { kNone, kAuto, kRequired };
  Choice choice = Choice::kNone;
  bool named = false;       // kRequired, and which one was said by name
  bool parallel = true;     // several calls in an answer
  std::vector<Tool> tools;  // that may be called: fewer than the model is told of, perhaps

  const Tool* find(std::string_view name) const {
    for (const Tool& tool : tools) {
      if (tool.name == name) return &tool;
    }
    return nullptr;
  }
};

}  // namespace millrace::chat::tools
