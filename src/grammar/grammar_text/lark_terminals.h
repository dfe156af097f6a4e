#pragma once

#include <optional>
#include <string_view>

namespace millrace::grammar {

// The regular expression of a terminal that Lark grammars import from "common". Where Lark's own depends on matching
// as little as possible (strings, comments), the pattern says what that comes to. None for other names.
std::optional<std::string_view> common_terminal(std::string_view name);

}  // namespace millrace::grammar
