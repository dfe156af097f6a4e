#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hub/cache_layout.h"

namespace millrace::hub {

// The store that the repositories of a cache share since hub 2.0: ROOT/blobs/<2 hex>/<64 hex>, a regular file to which
// blobs of repositories link; beside it <64 hex>.refs lists them, one relative path a line, and <64 hex>.lock is
// flocked. Read here, and emptied of what nothing links to any more; new blobs are never put there.

// The file of the store that a repository's blob is a link to.
std::optional<std::filesystem::path> shared_blob_of(const CacheLayout& cache, const std::filesystem::path& blob);

// Bytes of the shared file that no link but those in `leaving` needs; 0 if one does, or if what the store says of
// itself is incomplete in any way: then it stays.
std::uint64_t unshared_bytes(const CacheLayout& cache, const std::filesystem::path& shared,
                             const std::vector<std::filesystem::path>& leaving);

// Deletes the shared file if nothing links to it; bytes freed.
std::uint64_t sweep_shared_blob(const CacheLayout& cache, const std::filesystem::path& shared);

}  // namespace millrace::hub
