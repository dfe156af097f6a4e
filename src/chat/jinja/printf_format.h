#pragma once

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// Python's `format % values`, where `values` is a tuple, a dict for %(name)s, or one value. Literal characters and %s
// keep their trust.
Text printf_format(Runtime& runtime, const Text& format, const Value& values);

}  // namespace millrace::chat::jinja
