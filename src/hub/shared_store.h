#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hub/cache_layout.h"

namespace millrace::hub {

// The store that the repositories of a cache share since hub 2.0: ROOT/blobs/<2 hex>/<64 hex> is a regular file to
// which blobs of repositories link; <64 hex>.refs besides it lists them, one relative path per line, and <64 hex>.lock
// is its flock. This program reads the store and deletes files without links; it never adds any.

// The file of the store that a repository's blob links to; nothing if it is no such link.
std::optional<std::filesystem::path> shared_blob_of(const CacheLayout& cache, const std::filesystem::path& blob);

// Bytes of the shared file that only links in `leaving` need; 0 if another link needs it, or if the store's records are
// incomplete.
std::uint64_t unshared_bytes(const CacheLayout& cache, const std::filesystem::path& shared,
                             const std::vector<std::filesystem::path>& leaving);

// Deletes the shared file if nothing links to it. Returns the bytes freed.
std::uint64_t sweep_shared_blob(const CacheLayout& cache, const std::filesystem::path& shared);

}  // namespace millrace::hub
