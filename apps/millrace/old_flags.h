#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::app {

// The arguments behind the program's name, with flags of before (base/old_names.h) under their names of now; also moves
// the variables MILLRACE_OLD to MILLRACE_NOW. A line on stderr for each. What stands behind "--" stays as it is.
std::vector<std::string> with_current_flags(int argc, const char* const* argv);

// The key of a --config file under its name of now, with the same line on stderr.
std::string with_current_key(const std::string& file, std::string key);

// The line itself: what is called `old` is called `now`.
void warn_old_name(std::string_view old, std::string_view now);

}  // namespace millrace::app
