#pragma once

#include <string>
#include <vector>

#include "hub/cache_index.h"
#include "hub/reference.h"

namespace millrace::hub {

// The files that removing a model would delete, all within the repository's folder in the cache, and their shared
// blobs.
struct Removal {
  std::string repository;
  bool whole = false;  // nothing of the repository stays
  std::vector<std::filesystem::path> links, snapshots, refs, blobs, shared;
  std::vector<CachedModel> models;  // models that are removed
  std::uint64_t bytes = 0;          // that the removal frees
  std::uint64_t shared_bytes = 0;   // of these, in the shared store
};

// Plans a removal: `org/name` removes the whole repository, `@revision` one snapshot, `:quantization` the files of one
// model. Blobs that another snapshot links to stay. kNotFound if it is not in the cache; kInvalidArgument if a link
// leads out of the cache.
Result<Removal> plan_removal(const CacheLayout& cache, const RepositoryReference& reference);

// Removes the planned files, links before blobs, so that no link is ever broken. An error while another process
// downloads into the repository. Returns the bytes freed.
Result<std::uint64_t> remove(const CacheLayout& cache, const Removal& removal);

}  // namespace millrace::hub
