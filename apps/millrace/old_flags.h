#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::app {

// The arguments after the program's name, with renamed flags (base/old_names.h) under their current names. Also renames
// environment variables. Warns on stderr for each. Arguments after "--" stay unchanged.
std::vector<std::string> with_current_flags(int argc, const char* const* argv);

// The current name of a key of a --config file; warns on stderr if `key` is an old one.
std::string with_current_key(const std::string& file, std::string key);

// Prints the warning: `old` is now called `now`.
void warn_old_name(std::string_view old, std::string_view now);

}  // namespace millrace::app
