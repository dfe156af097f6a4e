#pragma once

#include "text/jinja/runtime.h"

namespace millrace::text::jinja {

// Python's `format % values`: values is a tuple, a dict for %(name)s, or the one value. Literal characters and %s keep
// their trust.
Text printf_format(Runtime& runtime, const Text& format, const Value& values);

}  // namespace millrace::text::jinja
