#pragma once

#include <string>
#include <vector>

#include "hub/file_download.h"
#include "hub/model_choice.h"
#include "hub/reference.h"

namespace millrace::hub {

struct PullRequest {
  RepositoryReference reference;
  int max_workers = 4;               // files at a time, 1 to 16
  std::vector<std::string> include;  // shell patterns of files to fetch besides the model
  bool dry_run = false;              // says what it would fetch
};

struct PulledFile {
  std::string name;
  std::uint64_t bytes = 0;
  bool present = false;  // before the pull
};

struct PullResult {
  std::string commit;
  std::string path;  // what open_checkpoint takes: the .gguf, or the snapshot's folder
  ModelChoice choice;
  std::vector<PulledFile> files;
  std::uint64_t total_bytes = 0, fetched_bytes = 0;
};

// The world of a pull, all of it injectable.
struct PullWorld {
  http::HttpClient& client;
  Pause& pause;
  PullObserver& observer;
  RetryPolicy retry;
  OpenPartialFile open_partial = open_partial_file;
  Result<std::uint64_t> (*free_bytes)(const std::string& path) = hub::free_bytes;
};

// Asks the hub for the repository at the revision, chooses the model, and brings its files into the cache, several at a
// time. Files already there are not fetched again. Links and the ref are made last, so that the cache shows whole
// models only: weights after the small files, the ref after the links.
Result<PullResult> pull(const HubSettings& settings, const PullRequest& request, const PullWorld& world);

}  // namespace millrace::hub
