#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::app {

// The arguments without the program's name. Renamed flags (base/old_names.h) get their present names. An environment
// variable with an old name is copied to the variable with the present name unless that is set. Prints a warning for
// each on stderr. Arguments after "--" are unchanged. Call it before other threads start: it sets environment
// variables.
std::vector<std::string> with_current_flags(int argc, const char* const* argv);

// The present name of `key` in the --config file `file`. Prints a warning on stderr if `key` is an old name.
std::string with_current_key(const std::string& file, std::string key);

// Prints the warning on stderr that `old` has the name `now`.
void warn_old_name(std::string_view old, std::string_view now);

}  // namespace millrace::app
