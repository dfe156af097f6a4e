#pragma once

#include <string>
#include <string_view>

namespace millrace::runtime {

// The identity of this build. Caches on disk store it if their contents may change with the code.

std::string_view build_version() noexcept;  // "0.1.0"
std::string_view build_commit() noexcept;   // "1a2b3c4", "1a2b3c4+" with uncommitted changes; empty: no git
// A key of version and commit. A build with uncommitted changes has a new key each time the program or library is
// linked. All builds without git of one version have the same key.
std::string build_key();

}  // namespace millrace::runtime
