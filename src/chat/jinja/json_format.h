#pragma once

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // indentation of one level; nothing: everything on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

// json.dumps(); the result is untrusted.
Text to_json(Runtime& runtime, const Value& value, const JsonStyle& style);

}  // namespace millrace::chat::jinja
