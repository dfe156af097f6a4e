#pragma once

#include <string>
#include <string_view>

namespace millrace::app {

// Text that a file or a user supplied as it may go to a terminal: one line, with control characters (C0, DEL, C1) and
// what is not UTF-8 escaped as \x1b.
std::string printable(std::string_view text);

// The same for text of several lines: newlines and tabs stay.
std::string printable_lines(std::string_view text);

}  // namespace millrace::app
