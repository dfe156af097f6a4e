#pragma once

#include <string>
#include <string_view>

namespace millrace::runtime {

// Names of this build. Files on disk whose bits may change from build to build contain them. Any thread.

std::string_view build_version() noexcept;  // "0.1.0"
std::string_view
build_commit() noexcept;  // "1a2b3c4", "1a2b3c4+" with uncommitted changes; empty if not built from a commit
// A key that differs between commits. With uncommitted changes it differs each time the program or library is linked.
std::string build_key();

}  // namespace millrace::runtime
