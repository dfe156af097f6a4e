#pragma once

#include <string_view>

#include "text/jinja/ast.h"

namespace millrace::text::jinja {

// Throws Failure (kBadFile) with the line for a syntax error, an unknown tag, filter or test, or nesting beyond the
// limit.
Program parse(std::string_view source, const TemplateLimits& limits);

}  // namespace millrace::text::jinja
