#pragma once

#include <string>

namespace millrace {

// Names the calling thread for those who look from outside: top -H, perf, gdb, /proc. Longer than 15 bytes are cut.
void name_thread(const std::string& name) noexcept;

}  // namespace millrace
