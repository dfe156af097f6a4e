#pragma once

#include <string>
#include <string_view>

namespace millrace::app {

// Makes text from files or users safe for a terminal: one line, with control characters (C0, DEL, C1) and invalid UTF-8
// escaped like \x1b.
std::string printable(std::string_view text);

// The same, but newlines and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace millrace::app
