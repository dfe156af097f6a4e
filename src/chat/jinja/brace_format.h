#pragma once

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// str.format(): {} {0} {name} {0.attribute} {0[key]} with !s, !r and format specifications of strings and numbers; no
// nested fields.
Text brace_format(Runtime& runtime, const Text& format, const Arguments& arguments);

}  // namespace millrace::chat::jinja
