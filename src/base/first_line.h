#pragma once

#include <string>

namespace millrace {

// The first line of a small file, such as those of /proc and /sys; empty if there is none.
std::string first_line(const char* path);

}  // namespace millrace
