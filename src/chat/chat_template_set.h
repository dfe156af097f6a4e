#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace::chat {

inline constexpr std::string_view kDefaultTemplate = "default", kToolUseTemplate = "tool_use";

// The chat templates a model ships: Jinja sources by name ("default", "tool_use", "rag" ...). Plain data, filled by
// checkpoint/.
struct ChatTemplateSet {
  std::map<std::string, std::string, std::less<>> sources;

  bool empty() const noexcept { return sources.empty(); }
  // The source that renders a plain conversation; empty if there is none.
  std::string_view default_source() const;
};

// Which template renders a request, as Transformers chooses: the one asked for by name; else "tool_use" if there is one
// and tools are given; else "default". kInvalidArgument lists the names there are.
Result<std::string> select_template(const ChatTemplateSet& set, std::string_view asked, bool has_tools);

}  // namespace millrace::chat
