#pragma once

#include <string>

namespace millrace::app {

// "millrace 0.1.0 (commit 1a2b3c4, GNU 12.2.0 Release, avx2)": version, commit ("no commit known" where it was built
// without git), compiler and build type, and the instruction set that this processor allows.
std::string version_text();

}  // namespace millrace::app
