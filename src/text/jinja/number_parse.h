#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/value.h"

namespace millrace::text::jinja {

// Python's int(text, base) and float(text); nothing where Python raises ValueError.
std::optional<Integer> parse_integer(std::string_view text, int base);
std::optional<double> parse_real(std::string_view text);

}  // namespace millrace::text::jinja
