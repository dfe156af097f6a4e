#pragma once

#include <string>
#include <vector>

#include "hub/cache_index.h"
#include "hub/reference.h"

namespace millrace::hub {

// What removing a model would delete, all of it below the repository's folder in the cache.
struct Removal {
  std::string repository;
  bool whole = false;  // nothing of the repository stays
  std::vector<std::filesystem::path> links, snapshots, refs, blobs, shared;
  std::vector<CachedModel> models;  // that are gone afterwards
  std::uint64_t bytes = 0;          // that this frees
  std::uint64_t shared_bytes = 0;   // of them in the shared store
};

// `org/name`: all of it. `@revision`: one snapshot. `:quantization`: the files of one model. Blobs that another
// snapshot links to stay. kNotFound if it is not in the cache; kInvalidArgument where a link leads out of the cache.
Result<Removal> plan_removal(const CacheLayout& cache, const RepositoryReference& reference);

// Deletes it: links before blobs, so that nothing ever leads nowhere. Rejected while another process downloads into the
// repository. Bytes freed.
Result<std::uint64_t> remove(const CacheLayout& cache, const Removal& removal);

}  // namespace millrace::hub
