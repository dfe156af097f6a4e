#pragma once

#include <optional>
#include <string_view>

#include "chat/jinja/value.h"

namespace millrace::chat::jinja {

// Python's int(text, base) and float(text); nothing where Python raises ValueError.
std::optional<Integer> parse_integer(std::string_view text, int base);
std::optional<double> parse_real(std::string_view text);

}  // namespace millrace::chat::jinja
