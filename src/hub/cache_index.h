#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "hub/cache_layout.h"
#include "hub/model_choice.h"

namespace millrace::hub {

// One snapshot of a repository in the cache: its files as they are there.
struct CachedSnapshot {
  std::string repository, commit;
  std::vector<std::string> refs;  // branches and tags that stand for the commit
  std::filesystem::path path;
  std::vector<RepositoryFile> files;  // name and size; links that lead nowhere or out of the cache are left out
};

// The files of a snapshot, however it came to be.
CachedSnapshot read_snapshot(const CacheLayout& cache, const std::string& repository, const std::string& commit);
// All snapshots of all model repositories, by name and commit. What is damaged is left out.
std::vector<CachedSnapshot> read_cache(const CacheLayout& cache);
std::vector<std::string> cached_commits(const CacheLayout& cache, const std::string& repository);

// A model that a snapshot holds: one for each GGUF, one for safetensors or, without those, files of torch.
struct CachedModel {
  std::string reference;  // what `run` takes
  std::string repository, commit, quantization;
  std::string format;             // "gguf", "safetensors", "torch"; empty = none of them
  std::vector<std::string> refs;  // branches and tags
  std::vector<std::string> files;
  std::uint64_t bytes = 0;  // of `files`
  bool complete = true;     // all shards are there
  std::filesystem::path path;
  std::chrono::system_clock::time_point modified;
};
std::vector<CachedModel> models_of(const CachedSnapshot& snapshot);

}  // namespace millrace::hub
