#pragma once

#include <cstdio>

namespace millrace::trace {

// What was entered and left so far, thread by thread: "thread N", then for each event "+ADDRESS" (hexadecimal, from the
// beginning of the program's image, as addr2line takes it) or "-". No traced thread may run meanwhile.
void write(std::FILE* file);

}  // namespace millrace::trace
