#pragma once

#include <string>
#include <string_view>

namespace millrace::runtime {

// Which build this is. What is kept on disk from one process to the next names it where its bits may change with it.

std::string_view build_version() noexcept;  // "0.1.0"
std::string_view build_commit() noexcept;   // "1a2b3c4", "1a2b3c4+" with changes since; empty: not built from a commit
// Changes with each commit, and, for a build with changes, with each time the program or library is linked.
std::string build_key();

}  // namespace millrace::runtime
