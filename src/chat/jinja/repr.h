#pragma once

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// Python's repr(float), which json.dumps also uses.
std::string real_to_string(double value);
std::string integer_to_string(Integer value);

// Python's str(). A string is returned with its trust; everything else is untrusted.
Text to_text(Runtime& runtime, const Value& value);
// Python's repr(), with quoted strings; untrusted.
Text to_repr(Runtime& runtime, const Value& value);

}  // namespace millrace::chat::jinja
