#pragma once

#include <string>

namespace millrace {

// Names the calling thread for tools such as top -H, perf, gdb and /proc. Names are cut at 15 bytes.
void name_thread(const std::string& name) noexcept;

}  // namespace millrace
