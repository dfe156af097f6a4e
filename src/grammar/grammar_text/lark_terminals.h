#pragma once

#include <optional>
#include <string_view>

namespace millrace::grammar {

// The regular expression of a terminal that Lark grammars import from "common"; nothing for other names. Where Lark's
// own uses minimal matching (strings, comments), the pattern expresses its effect.
std::optional<std::string_view> common_terminal(std::string_view name);

}  // namespace millrace::grammar
