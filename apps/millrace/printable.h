#pragma once

#include <string>
#include <string_view>

namespace millrace::app {

// Makes text from a file or user safe for a terminal: a single line in which control characters (C0, DEL, C1) are
// escaped, for example as \x1b. If the text is not valid UTF-8, all its bytes from 0x80 on are escaped too.
std::string printable(std::string_view text);

// Like printable(), but keeps newlines and tabs.
std::string printable_lines(std::string_view text);

}  // namespace millrace::app
