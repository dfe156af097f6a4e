#pragma once

#include <string>

namespace millrace {

// The first line of a small file, as those of /proc and /sys are; empty where there is none.
std::string first_line(const char* path);

}  // namespace millrace
