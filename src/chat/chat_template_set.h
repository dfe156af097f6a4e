#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::chat {

inline constexpr std::string_view kDefaultTemplate = "default", kToolUseTemplate = "tool_use";

// The chat templates of a model: Jinja sources by name ("default", "tool_use", "rag" ...). Plain data; checkpoint/
// fills it.
struct ChatTemplateSet {
  std::map<std::string, std::string, std::less<>> sources;

  bool empty() const noexcept { return sources.empty(); }
  // The source for plain conversations; empty if there is none.
  std::string_view default_source() const;
};

// The name of the template for a request, chosen as Transformers does: the one that is named; else "tool_use" if it
// exists and tools are given; else "default". kInvalidArgument lists the existing names.
Result<std::string> select_template(const ChatTemplateSet& set, std::string_view asked, bool has_tools);

}  // namespace millrace::chat
