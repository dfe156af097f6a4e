#pragma once

#include <string_view>

#include "chat/jinja/ast.h"

namespace millrace::chat::jinja {

// Parses a template. Throws Failure (kBadFile) with the line for a syntax error, an unknown tag, filter or test, or
// nesting beyond the limit.
Program parse(std::string_view source, const TemplateLimits& limits);

}  // namespace millrace::chat::jinja
