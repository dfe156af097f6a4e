#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "hub/cache_layout.h"
#include "hub/model_choice.h"

namespace millrace::hub {

// One snapshot of a repository in the cache, with the files that exist.
struct CachedSnapshot {
  std::string repository, commit;
  std::vector<std::string> refs;  // branches and tags that refer to the commit
  std::filesystem::path path;
  std::vector<RepositoryFile> files;  // with name and size; broken links, and links out of the cache, are left out
};

// Reads the files of a snapshot, whatever program made it.
CachedSnapshot read_snapshot(const CacheLayout& cache, const std::string& repository, const std::string& commit);
// Reads all snapshots of all model repositories, sorted by name and commit. Damaged ones are left out.
std::vector<CachedSnapshot> read_cache(const CacheLayout& cache);
std::vector<std::string> cached_commits(const CacheLayout& cache, const std::string& repository);

// A model in a snapshot: one for each GGUF model, one for safetensors or, without those, torch's files.
struct CachedModel {
  std::string reference;  // what `run` accepts
  std::string repository, commit, quantization;
  std::string format;             // "gguf", "safetensors" or "torch"; empty = none of them
  std::vector<std::string> refs;  // branches and tags
  std::vector<std::string> files;
  std::uint64_t bytes = 0;  // of `files`
  bool complete = true;     // all shards are there
  std::filesystem::path path;
  std::chrono::system_clock::time_point modified;
};
std::vector<CachedModel> models_of(const CachedSnapshot& snapshot);

}  // namespace millrace::hub
